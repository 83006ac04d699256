"""Uploads that the server fetches from an address."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

STATE = "ck_uploads_state"
STATES = ("receiving", "fetching", "checking", "checked", "failed")


def _permit(*states: str) -> None:
    listed = ", ".join(f"'{state}'" for state in states)
    op.drop_constraint(op.f(STATE), "uploads")
    op.create_check_constraint(op.f(STATE), "uploads", f"state IN ({listed})")


def upgrade() -> None:
    """Apply."""
    op.add_column("uploads", sa.Column("source", sa.Text()))
    _permit(*STATES)
    op.create_check_constraint(op.f("ck_uploads_source"), "uploads", "state <> 'fetching' OR source IS NOT NULL")


def downgrade() -> None:
    """Take back. What is being fetched is forgotten."""
    op.execute("DELETE FROM uploads WHERE state = 'fetching'")
    op.drop_constraint(op.f("ck_uploads_source"), "uploads")
    _permit(*(state for state in STATES if state != "fetching"))
    op.drop_column("uploads", "source")
