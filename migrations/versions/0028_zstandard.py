"""Steps are packed by Zstandard from here on.

Nothing changes in what is stored, which is read as before. But an earlier version cannot read what is stored from now
on, and refuses a database of this revision.
"""

from __future__ import annotations

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply nothing."""


def downgrade() -> None:
    """Revert nothing; steps packed since stay unreadable to earlier versions."""
