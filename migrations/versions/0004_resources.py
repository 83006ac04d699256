"""Data sets, models and verifiers under a name, and which runs use them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "resources",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("details", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint("kind IN ('dataset', 'model', 'verifier')", name=op.f("ck_resources_kind")),
        sa.ForeignKeyConstraint(["owner_id"], ["users.id"], name=op.f("fk_resources_owner_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_resources_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resources")),
        sa.UniqueConstraint("project_id", "kind", "name", name=op.f("uq_resources_project_id_kind_name")),
    )
    op.create_table(
        "run_resources",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_resources_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "field", name=op.f("pk_run_resources")),
    )
    op.create_index(op.f("ix_run_resources_reference"), "run_resources", ["reference"], unique=False)
    op.execute("""
        INSERT INTO run_resources (run_id, field, reference)
        SELECT runs.id, named.field, config #>> string_to_array(named.field, '.')
        FROM runs, unnest(ARRAY['model.path', 'task.train_file', 'task.test_file']) AS named(field)
        WHERE config #>> string_to_array(named.field, '.') IS NOT NULL
    """)


def downgrade() -> None:
    """Take back."""
    op.drop_table("run_resources")
    op.drop_table("resources")
