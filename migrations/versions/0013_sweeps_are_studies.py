"""Sweeps become studies without a question."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.alter_column("studies", "text", nullable=True)
    op.alter_column("studies", "digest", nullable=True)
    op.create_check_constraint(op.f("ck_studies_declaration"), "studies", "(text IS NULL) = (digest IS NULL)")
    op.add_column("studies", sa.Column("recipe", sa.Text(), nullable=True))
    op.add_column("studies", sa.Column("parent_id", sa.Text(), nullable=True))
    for column in (
        sa.Column("fields", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("base", postgresql.JSON(astext_type=sa.Text()), server_default="{}", nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("notes", sa.Text(), server_default="", nullable=False),
    ):
        op.add_column("studies", column)
        op.alter_column("studies", column.name, server_default=None)
    op.create_foreign_key(op.f("fk_studies_parent_id"), "studies", "runs", ["parent_id"], ["id"], ondelete="SET NULL")
    op.create_index(op.f("ix_studies_parent_id"), "studies", ["parent_id"])
    point = sa.Column("point", postgresql.JSON(astext_type=sa.Text()), server_default="{}", nullable=False)
    op.add_column("study_runs", point)
    op.alter_column("study_runs", "point", server_default=None)
    op.execute(
        "INSERT INTO studies"
        " (id, project_id, owner_id, fields, recipe, parent_id, base, tags, notes, priority, choices, created_at)"
        " SELECT s.id, g.project_id, s.owner_id, s.fields, s.recipe, s.parent_id, s.base, '{}', s.notes, 50, '[]',"
        " s.created_at FROM sweeps AS s JOIN run_groups AS g USING (id)"
    )
    op.execute(
        "INSERT INTO study_runs (study_id, name, position, point, run_id, was_submitted)"
        " SELECT r.group_id, 'run-' || (r.sweep_position + 1), r.sweep_position, r.sweep_point, r.id, TRUE"
        " FROM runs AS r JOIN sweeps AS s ON s.id = r.group_id WHERE r.sweep_point IS NOT NULL"
    )
    op.drop_column("runs", "sweep_position")
    op.drop_column("runs", "sweep_point")
    op.drop_index(op.f("ix_sweeps_parent_id"), table_name="sweeps")
    op.drop_table("sweeps")
    op.drop_constraint(op.f("ck_run_groups_kind"), "run_groups")
    op.drop_column("run_groups", "kind")


def downgrade() -> None:
    """Take back."""
    op.add_column("run_groups", sa.Column("kind", sa.Text(), server_default="group", nullable=False))
    op.execute(
        "UPDATE run_groups AS g SET kind = CASE WHEN s.text IS NULL THEN 'sweep' ELSE 'study' END"
        " FROM studies AS s WHERE s.id = g.id"
    )
    op.create_check_constraint(op.f("ck_run_groups_kind"), "run_groups", "kind IN ('group', 'sweep', 'study')")
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
    op.add_column("runs", sa.Column("sweep_point", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    op.add_column("runs", sa.Column("sweep_position", sa.Integer(), nullable=True))
    op.execute(
        "INSERT INTO sweeps (id, owner_id, fields, recipe, parent_id, base, notes, created_at)"
        " SELECT id, owner_id, fields, recipe, parent_id, base, notes, created_at FROM studies WHERE text IS NULL"
    )
    op.execute(
        "UPDATE runs AS r SET sweep_point = m.point, sweep_position = m.position"
        " FROM study_runs AS m JOIN studies AS s ON s.id = m.study_id WHERE m.run_id = r.id AND s.text IS NULL"
    )
    op.execute("DELETE FROM studies WHERE text IS NULL")
    op.drop_column("study_runs", "point")
    op.drop_index(op.f("ix_studies_parent_id"), table_name="studies")
    op.drop_constraint(op.f("fk_studies_parent_id"), "studies")
    op.drop_constraint(op.f("ck_studies_declaration"), "studies")
    for column in ("fields", "recipe", "parent_id", "base", "tags", "notes"):
        op.drop_column("studies", column)
    op.alter_column("studies", "digest", nullable=False)
    op.alter_column("studies", "text", nullable=False)
