"""Needs of runs, holds, places in the queue, draining workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def _columns() -> Iterator[tuple[str, sa.Column[Any]]]:
    """New columns of tables that are there, each with its table."""
    yield "runs", sa.Column("max_retries", sa.Integer(), nullable=True)
    yield "runs", sa.Column("retry_reason", sa.Text(), nullable=True)
    yield "runs", sa.Column("not_before", sa.DateTime(timezone=True), nullable=True)
    yield "runs", sa.Column("num_gpus_needed", sa.Integer(), server_default="0", nullable=False)
    yield "runs", sa.Column("gpus_optional", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    yield "runs", sa.Column("memory_gib", postgresql.DOUBLE_PRECISION(), server_default="0", nullable=False)
    yield "runs", sa.Column("gpu_memory_gib", postgresql.DOUBLE_PRECISION(), nullable=True)
    yield "runs", sa.Column("num_cluster_gpus", sa.Integer(), server_default="0", nullable=False)
    yield "runs", sa.Column("queue_order", sa.DateTime(timezone=True), nullable=True)
    yield "runs", sa.Column("queue_place", sa.Integer(), nullable=True)
    yield "runs", sa.Column("held_at", sa.DateTime(timezone=True), nullable=True)
    yield "runs", sa.Column("held_by", sa.Text(), nullable=True)
    yield "attempts", sa.Column("gpus", postgresql.ARRAY(sa.Integer()), server_default=sa.text("'{}'"), nullable=False)
    yield "attempts", sa.Column("memory_gib", postgresql.DOUBLE_PRECISION(), server_default="0", nullable=False)
    yield "workers", sa.Column("memory_gib", postgresql.DOUBLE_PRECISION(), nullable=True)
    yield "workers", sa.Column("draining_at", sa.DateTime(timezone=True), nullable=True)
    yield "workers", sa.Column("drain_hands_on", sa.Boolean(), server_default=sa.text("false"), nullable=False)
    yield "workers", sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=True)
    yield "users", sa.Column("max_running", sa.Integer(), nullable=True)


def upgrade() -> None:
    """Apply."""
    for table, column in _columns():
        op.add_column(table, column)
    op.create_table(
        "idempotent_requests",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_idempotent_requests_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotent_requests")),
    )
    op.create_index(op.f("ix_idempotent_requests_created_at"), "idempotent_requests", ["created_at"])
    # Names of GPUs become objects; a worker tells their memory when it next registers.
    op.add_column("workers", sa.Column("gpu_objects", postgresql.JSONB(), server_default="[]", nullable=False))
    op.execute(
        """
        UPDATE workers SET gpu_objects = COALESCE((
            SELECT jsonb_agg(jsonb_build_object('index', place - 1, 'name', name, 'memory_gib', NULL) ORDER BY place)
            FROM unnest(gpus) WITH ORDINALITY AS gpu(name, place)
        ), '[]')
        """
    )
    op.drop_column("workers", "gpus")
    op.alter_column("workers", "gpu_objects", new_column_name="gpus", server_default=None)
    op.execute("UPDATE runs SET queue_order = queued_at")
    # As `bapo.config.resources.needs` reads a config that has no `resources` section yet.
    op.execute(
        """
        WITH engines AS (
            SELECT id, config #>> '{engine,type}' AS type, COALESCE(config #>> '{engine,device}', 'auto') AS device,
                   config #>> '{engine,verl,ray_address}' IS NOT NULL AS is_cluster,
                   COALESCE((config #>> '{engine,verl,gpus_per_node}')::int, 1)
                       * COALESCE((config #>> '{engine,verl,nodes}')::int, 1) AS verl_gpus
            FROM runs
        )
        UPDATE runs SET
            num_gpus_needed = CASE WHEN type = 'local' THEN 1 WHEN is_cluster THEN 0 ELSE verl_gpus END,
            num_cluster_gpus = CASE WHEN type = 'verl' AND is_cluster THEN verl_gpus ELSE 0 END,
            gpus_optional = type = 'local' AND device = 'auto'
        FROM engines WHERE engines.id = runs.id AND device <> 'cpu' AND type IS NOT NULL
        """
    )


def downgrade() -> None:
    """Take back."""
    op.add_column("workers", sa.Column("gpu_names", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False))
    op.execute(
        """
        UPDATE workers SET gpu_names = ARRAY(
            SELECT gpu ->> 'name' FROM jsonb_array_elements(gpus) WITH ORDINALITY AS each(gpu, place) ORDER BY place
        )
        """
    )
    op.drop_column("workers", "gpus")
    op.alter_column("workers", "gpu_names", new_column_name="gpus", server_default=None)
    op.drop_table("idempotent_requests")
    for table, column in _columns():
        op.drop_column(table, column.name)
