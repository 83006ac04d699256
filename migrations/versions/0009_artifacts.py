"""Downloads, and folders that wait to be deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "artifacts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("run_step", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default="requested", nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("requested_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("ready_at", TIME, nullable=True),
        sa.Column("expires_at", TIME, nullable=True),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("num_bytes", sa.BigInteger(), nullable=True),
        sa.Column("received_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('checkpoint', 'journal', 'report', 'config', 'log', 'samples')", name=op.f("ck_artifacts_kind")
        ),
        sa.CheckConstraint(
            "state IN ('requested', 'preparing', 'ready', 'expired', 'failed')", name=op.f("ck_artifacts_state")
        ),
        sa.CheckConstraint("(kind = 'checkpoint') = (step IS NOT NULL)", name=op.f("ck_artifacts_step")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_artifacts_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["worker_id"], ["workers.id"], name=op.f("fk_artifacts_worker_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
    )
    op.create_index("ix_artifacts_run", "artifacts", ["run_id", "requested_at"], unique=False)
    op.create_index(
        "ix_artifacts_open",
        "artifacts",
        ["host"],
        unique=False,
        postgresql_where=sa.text("state IN ('requested', 'preparing')"),
    )
    op.create_table(
        "run_storage",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("folder_bytes", sa.BigInteger(), nullable=True),
        sa.Column("checkpoints", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("folder_measured_at", TIME, nullable=True),
        sa.Column("is_folder_due", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("database_bytes", sa.BigInteger(), nullable=True),
        sa.Column("database_measured_at", TIME, nullable=True),
        sa.Column("samples_deleted_at", TIME, nullable=True),
        sa.Column("log_deleted_at", TIME, nullable=True),
        sa.Column("checkpoints_deleted_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_storage_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_storage")),
    )
    op.create_index(
        "ix_run_storage_due", "run_storage", ["run_id"], unique=False, postgresql_where=sa.text("is_folder_due")
    )
    op.create_table(
        "folder_deletions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("run_name", sa.Text(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("requested_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("num_tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tried_at", TIME, nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "part IN ('folder', 'checkpoints', 'samples', 'log')", name=op.f("ck_folder_deletions_part")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_folder_deletions")),
    )
    op.create_index("ix_folder_deletions_host", "folder_deletions", ["host"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.drop_table("folder_deletions")
    op.drop_table("run_storage")
    op.drop_table("artifacts")
