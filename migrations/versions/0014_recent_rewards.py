"""The reward of a run is the mean of its newest ten steps, as its page shows it."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("""
        UPDATE runs SET reward_mean = recent.mean FROM (
            SELECT steps.run_id, avg((steps.record ->> 'reward_mean')::float8) AS mean
            FROM steps JOIN runs ON runs.id = steps.run_id AND steps.step > runs.step - 10
            WHERE jsonb_typeof(steps.record -> 'reward_mean') = 'number'
            GROUP BY steps.run_id
        ) AS recent WHERE recent.run_id = runs.id
    """)


def downgrade() -> None:
    """Take back: the reward of the last step."""
    op.execute("""
        UPDATE runs SET reward_mean = (steps.record ->> 'reward_mean')::float8 FROM steps
        WHERE steps.run_id = runs.id AND steps.step = runs.step
        AND jsonb_typeof(steps.record -> 'reward_mean') = 'number'
    """)
