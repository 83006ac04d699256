"""Idempotency keys of runs lie with those of all other requests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

_KEYS = """
    INSERT INTO idempotent_requests (user_id, key, digest, answer, created_at)
    SELECT owner_id, idempotency_key, request_hash, jsonb_build_object('run_id', id), created_at
    FROM runs
    WHERE idempotency_key IS NOT NULL AND created_at > now() - interval '7 days'
    ON CONFLICT DO NOTHING
"""
_RUNS = """
    UPDATE runs SET idempotency_key = request.key, request_hash = request.digest
    FROM idempotent_requests AS request
    WHERE runs.owner_id = request.user_id AND runs.id = request.answer ->> 'run_id'
"""
_MOVED = """
    DELETE FROM idempotent_requests AS request USING runs
    WHERE runs.owner_id = request.user_id AND runs.idempotency_key = request.key
"""


def upgrade() -> None:
    """Apply. Keys of the last week stay valid."""
    op.execute(_KEYS)
    op.drop_index("uq_runs_idempotency", "runs")
    op.drop_column("runs", "idempotency_key")
    op.drop_column("runs", "request_hash")


def downgrade() -> None:
    """Take back."""
    op.add_column("runs", sa.Column("idempotency_key", sa.Text()))
    op.add_column("runs", sa.Column("request_hash", sa.Text()))
    op.execute(_RUNS)
    op.execute(_MOVED)
    op.create_index(
        "uq_runs_idempotency",
        "runs",
        ["owner_id", "idempotency_key"],
        unique=True,
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
