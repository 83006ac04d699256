"""Steps of a run that count in an older one, so that the totals of prompts count each answer once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_FORGET_SUMS = """
    UPDATE project_prompts SET num_runs = 0, num_visits = 0, num_responses = 0, num_correct = 0, num_never_solved = 0,
                               num_always_solved = 0, num_suspected = 0
"""
_ARRAYS = ("inherited_steps", "own_visits", "own_evaluations", "own_correct")


def upgrade() -> None:
    """Apply. The server counts all runs again in the background: the pages say how many it has not counted yet."""
    op.execute("DELETE FROM prompt_totals")
    op.execute(_FORGET_SUMS)
    op.add_column("prompt_totals", sa.Column("is_due", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("prompt_totals", sa.Column("digests", postgresql.ARRAY(sa.BigInteger()), nullable=False))
    op.add_column("prompt_totals", sa.Column("first_digest", sa.BigInteger()))
    for name in _ARRAYS:
        op.add_column("prompt_totals", sa.Column(name, postgresql.ARRAY(sa.Integer()), nullable=False))
    op.create_index("ix_prompt_totals_first_digest", "prompt_totals", ["project_id", "first_digest"])


def downgrade() -> None:
    """Take back. The earlier version counts all runs again as well."""
    op.execute("DELETE FROM prompt_totals")
    op.execute(_FORGET_SUMS)
    op.drop_index("ix_prompt_totals_first_digest", "prompt_totals")
    for name in ("is_due", "digests", "first_digest", *_ARRAYS):
        op.drop_column("prompt_totals", name)
