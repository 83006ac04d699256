"""The held-out set of an evaluation: the number of problems, and their digest."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

# As `bapo.rollout.problems_digest` of prompts whose answers are not known.
_EVALUATIONS = """
    UPDATE sparse_records SET
        num_problems = jsonb_array_length(record -> 'num_correct'),
        problems = left(encode(sha256(convert_to(coalesce((
            SELECT string_agg(prompt_id, E'\\n' ORDER BY prompt_id COLLATE "C")
            FROM jsonb_array_elements_text(record -> 'prompt_ids') AS prompt_id
        ), ''), 'UTF8')), 'hex'), 16)
    WHERE type = 'evaluation'
"""
_RUNS = """
    UPDATE runs SET eval_num_problems = newest.num_problems, eval_problems = newest.problems
    FROM (
        SELECT DISTINCT ON (run_id, identity, record ->> 'num_samples') run_id, num_problems, problems,
               identity || ' avg@' || (record ->> 'num_samples') AS name
        FROM sparse_records WHERE type = 'evaluation'
        ORDER BY run_id, identity, record ->> 'num_samples', step DESC
    ) AS newest
    WHERE newest.run_id = runs.id AND newest.name = runs.eval_name
"""


def upgrade() -> None:
    """Apply. Evaluations of before hold their problems, and not the answers."""
    op.add_column("sparse_records", sa.Column("num_problems", sa.Integer()))
    op.add_column("sparse_records", sa.Column("problems", sa.Text()))
    op.add_column("runs", sa.Column("eval_num_problems", sa.Integer()))
    op.add_column("runs", sa.Column("eval_problems", sa.Text()))
    op.execute(_EVALUATIONS)
    op.execute(_RUNS)


def downgrade() -> None:
    """Take back."""
    for table, name in (
        ("runs", "eval_problems"),
        ("runs", "eval_num_problems"),
        ("sparse_records", "problems"),
        ("sparse_records", "num_problems"),
    ):
        op.drop_column(table, name)
