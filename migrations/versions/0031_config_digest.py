"""The digest of a run's config when it was checked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Runs of before have none, and their configs are not compared."""
    op.add_column("runs", sa.Column("config_digest", sa.Text()))


def downgrade() -> None:
    """Take back."""
    op.drop_column("runs", "config_digest")
