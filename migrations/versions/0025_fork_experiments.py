"""Studies of forks: the checkpoints that their runs begin with, and how many steps they train after that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column(
        "studies", sa.Column("checkpoints", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False)
    )
    op.add_column("studies", sa.Column("further_steps", sa.Integer()))
    op.create_check_constraint(
        op.f("ck_studies_experiment"), "studies", "(further_steps IS NULL) = (checkpoints = '[]')"
    )


def downgrade() -> None:
    """Take back. The runs of fork experiments stay, as those of a list."""
    op.drop_constraint(op.f("ck_studies_experiment"), "studies")
    op.drop_column("studies", "further_steps")
    op.drop_column("studies", "checkpoints")
