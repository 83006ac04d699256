"""Studies."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.drop_constraint(op.f("ck_run_groups_kind"), "run_groups")
    op.create_check_constraint(op.f("ck_run_groups_kind"), "run_groups", "kind IN ('group', 'sweep', 'study')")
    op.create_table(
        "studies",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("choices", postgresql.JSONB(astext_type=sa.Text(), none_as_null=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["id"], ["run_groups.id"], name=op.f("fk_studies_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_studies_project_id")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_studies_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
    )
    op.create_index(op.f("ix_studies_project_id"), "studies", ["project_id"])
    op.create_table(
        "study_runs",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("was_submitted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_study_runs_study_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_study_runs_run_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("study_id", "name", name=op.f("pk_study_runs")),
    )
    op.create_index(op.f("ix_study_runs_run_id"), "study_runs", ["run_id"])


def downgrade() -> None:
    """Take back; the runs of studies stay, in a group."""
    op.drop_index(op.f("ix_study_runs_run_id"), table_name="study_runs")
    op.drop_table("study_runs")
    op.drop_index(op.f("ix_studies_project_id"), table_name="studies")
    op.drop_table("studies")
    op.drop_constraint(op.f("ck_run_groups_kind"), "run_groups")
    op.execute("UPDATE run_groups SET kind = 'group' WHERE kind = 'study'")
    op.create_check_constraint(op.f("ck_run_groups_kind"), "run_groups", "kind IN ('group', 'sweep')")
