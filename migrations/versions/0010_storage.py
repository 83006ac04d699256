"""Metrics that wait for their chunk are not compressed: they are read once and then removed."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("ALTER TABLE steps ALTER COLUMN metrics SET STORAGE EXTERNAL")


def downgrade() -> None:
    """Undo."""
    op.execute("ALTER TABLE steps ALTER COLUMN metrics SET STORAGE EXTENDED")
