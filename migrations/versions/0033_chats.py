"""Chats with the models of runs."""

from __future__ import annotations

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_CHATS = """
CREATE TABLE chats (
    id text CONSTRAINT pk_chats PRIMARY KEY,
    run_id text NOT NULL CONSTRAINT fk_chats_run_id REFERENCES runs ON DELETE CASCADE,
    author text NOT NULL, prompt text NOT NULL, sides text[] NOT NULL,
    max_tokens integer NOT NULL, temperature double precision NOT NULL, seed bigint NOT NULL,
    state text NOT NULL DEFAULT 'requested', reason text,
    requested_at timestamptz NOT NULL DEFAULT now(), answered_at timestamptz,
    host text NOT NULL,
    worker_id text CONSTRAINT fk_chats_worker_id REFERENCES workers ON DELETE SET NULL,
    answers jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT ck_chats_state CHECK (state IN ('requested', 'answering', 'answered', 'failed'))
);
CREATE INDEX ix_chats_open ON chats (host) WHERE state IN ('requested', 'answering');
CREATE INDEX ix_chats_run ON chats (run_id, requested_at);
"""


def upgrade() -> None:
    """Apply."""
    op.execute(_CHATS)


def downgrade() -> None:
    """Take back."""
    op.drop_table("chats")
