"""Forks, sweeps and the moment of a stop."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("run_groups", sa.Column("kind", sa.Text(), server_default="group", nullable=False))
    op.create_check_constraint(op.f("ck_run_groups_kind"), "run_groups", "kind IN ('group', 'sweep')")
    op.create_table(
        "sweeps",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("fields", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("recipe", sa.Text(), nullable=True),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("base", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_hash", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["id"], ["run_groups.id"], name=op.f("fk_sweeps_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_sweeps_owner_id")),
        sa.ForeignKeyConstraint(["parent_id"], ["runs.id"], name=op.f("fk_sweeps_parent_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweeps")),
        sa.UniqueConstraint("owner_id", "idempotency_key", name=op.f("uq_sweeps_owner_id_idempotency_key")),
    )
    op.create_index(op.f("ix_sweeps_parent_id"), "sweeps", ["parent_id"], unique=False)
    op.add_column("runs", sa.Column("fork_step", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("forked_from", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("sweep_point", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column("runs", sa.Column("sweep_position", sa.Integer(), nullable=True))
    op.add_column("controls", sa.Column("moment", sa.Text(), nullable=True))
    op.add_column("controls", sa.Column("withdrawn_by", sa.Text(), nullable=True))
    op.drop_constraint(op.f("ck_controls_state"), "controls")
    states = "state IN ('pending', 'applied', 'refused', 'withdrawn')"
    op.create_check_constraint(op.f("ck_controls_state"), "controls", states)
    op.create_check_constraint(op.f("ck_controls_moment"), "controls", "moment IN ('now', 'step', 'checkpoint')")


def downgrade() -> None:
    """Take back."""
    op.drop_constraint(op.f("ck_controls_moment"), "controls")
    op.drop_constraint(op.f("ck_controls_state"), "controls")
    op.execute("UPDATE controls SET state = 'refused', reason = 'withdrawn' WHERE state = 'withdrawn'")
    states = "state IN ('pending', 'applied', 'refused')"
    op.create_check_constraint(op.f("ck_controls_state"), "controls", states)
    op.drop_column("controls", "withdrawn_by")
    op.drop_column("controls", "moment")
    op.drop_column("runs", "sweep_position")
    op.drop_column("runs", "sweep_point")
    op.drop_column("runs", "forked_from")
    op.drop_column("runs", "fork_step")
    op.drop_index(op.f("ix_sweeps_parent_id"), table_name="sweeps")
    op.drop_table("sweeps")
    op.drop_constraint(op.f("ck_run_groups_kind"), "run_groups")
    op.drop_column("run_groups", "kind")
