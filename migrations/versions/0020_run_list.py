"""Columns of the run list: newest values of metrics, and everybody's own choice; a trash before runs are deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("users", sa.Column("run_list", postgresql.JSONB()))
    op.add_column("runs", sa.Column("trashed_at", sa.DateTime(timezone=True)))
    op.add_column("runs", sa.Column("trashed_by", sa.Text()))
    op.create_index("ix_runs_trashed", "runs", ["trashed_at"], postgresql_where=sa.text("trashed_at IS NOT NULL"))
    op.add_column("runs", sa.Column("fields", postgresql.JSONB(), server_default=sa.text("'{}'"), nullable=False))
    op.execute("""
        WITH RECURSIVE parts AS (
            SELECT id, key AS path, value FROM runs, jsonb_each(config::jsonb)
            UNION ALL
            SELECT id, path || '.' || key, part.value FROM parts, jsonb_each(parts.value) AS part
            WHERE jsonb_typeof(parts.value) = 'object'
        ), flat AS (
            SELECT id, jsonb_object_agg(path, value) AS fields FROM parts
            WHERE jsonb_typeof(value) <> 'object' GROUP BY id
        )
        UPDATE runs SET fields = flat.fields FROM flat WHERE flat.id = runs.id
    """)
    op.create_table(
        "run_metrics",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("latest", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_metrics_run_id_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_metrics")),
    )
    # Of each metric the value at its last step: from the newest chunk that has it, from single steps, from evaluations.
    op.execute("""
        WITH newest_chunks AS (
            SELECT DISTINCT ON (run_id, key) run_id, key, chunk, series FROM metric_chunks
            ORDER BY run_id, key, chunk DESC
        ), recorded AS (
            SELECT run_id, key, chunk * 100 + place AS step, to_jsonb(value) AS value
            FROM newest_chunks, unnest(series) WITH ORDINALITY AS of_chunk(value, place)
            WHERE value NOT IN ('NaN', 'Infinity', '-Infinity')
            UNION ALL
            SELECT run_id, key, step, value FROM metric_tails, jsonb_each(metrics)
            UNION ALL
            SELECT run_id, key, step, value FROM sparse_records, jsonb_each(metrics)
        )
        INSERT INTO run_metrics (run_id, latest)
        SELECT run_id, jsonb_object_agg(key, value) FROM (
            SELECT DISTINCT ON (run_id, key) run_id, key, value FROM recorded
            WHERE jsonb_typeof(value) = 'number' ORDER BY run_id, key, step DESC
        ) AS latest GROUP BY run_id
    """)


def downgrade() -> None:
    """Take back. What is in the trash comes back to the lists."""
    op.drop_table("run_metrics")
    op.drop_column("runs", "fields")
    op.drop_column("runs", "trashed_by")
    op.drop_column("runs", "trashed_at")
    op.drop_column("users", "run_list")
