"""Uploads of data sets and models, and the versions that are made of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

PROJECT_ID = "projects.id"
USER_ID = "users.id"


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "uploads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("num_bytes", sa.BigInteger(), nullable=False),
        sa.Column("received_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("crc32", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("state", sa.Text(), server_default="receiving", nullable=False),
        sa.Column("mapping", postgresql.JSONB()),
        sa.Column("result", postgresql.JSONB()),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("kind IN ('dataset', 'model')", name=op.f("ck_uploads_kind")),
        sa.CheckConstraint("state IN ('receiving', 'checking', 'checked', 'failed')", name=op.f("ck_uploads_state")),
        sa.ForeignKeyConstraint(["project_id"], [PROJECT_ID], name=op.f("fk_uploads_project_id")),
        sa.ForeignKeyConstraint(["owner_id"], [USER_ID], name=op.f("fk_uploads_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_uploads")),
    )
    op.create_index("ix_uploads_project", "uploads", ["project_id"])
    op.create_table(
        "resource_versions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text()),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("files", postgresql.JSONB(), nullable=False),
        sa.Column("num_bytes", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("licence", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("details", postgresql.JSONB(), nullable=False),
        sa.Column("report", postgresql.JSONB()),
        sa.ForeignKeyConstraint(["project_id"], [PROJECT_ID], name=op.f("fk_resource_versions_project_id")),
        sa.ForeignKeyConstraint(
            ["resource_id"], ["resources.id"], name=op.f("fk_resource_versions_resource_id"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["owner_id"], [USER_ID], name=op.f("fk_resource_versions_owner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource_versions")),
        sa.UniqueConstraint("resource_id", "number", name=op.f("uq_resource_versions_resource_id_number")),
        sa.UniqueConstraint("path", name=op.f("uq_resource_versions_path")),
    )
    op.create_index("ix_resource_versions_project_id", "resource_versions", ["project_id"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("resource_versions")
    op.drop_table("uploads")
