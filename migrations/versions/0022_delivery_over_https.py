"""Workers say how they hear of their runs: from the broker, or by asking the server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("workers", sa.Column("delivery", sa.Text(), server_default="broker", nullable=False))
    op.create_check_constraint(op.f("ck_workers_delivery"), "workers", "delivery IN ('broker', 'https')")


def downgrade() -> None:
    """Take back."""
    op.drop_constraint(op.f("ck_workers_delivery"), "workers")
    op.drop_column("workers", "delivery")
