"""Workers say when their machines end, and how long their runs take to start and to stop."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("workers", sa.Column("drain_before", sa.DateTime(timezone=True)))
    op.add_column("attempts", sa.Column("start_seconds", postgresql.DOUBLE_PRECISION()))
    op.add_column("attempts", sa.Column("stop_seconds", postgresql.DOUBLE_PRECISION()))


def downgrade() -> None:
    """Take back."""
    op.drop_column("attempts", "stop_seconds")
    op.drop_column("attempts", "start_seconds")
    op.drop_column("workers", "drain_before")
