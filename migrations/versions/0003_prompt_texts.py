"""What prompts say, apart from the responses to them; how many responses of a stored group are correct."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "prompt_texts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("prompt_id", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("answer", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_prompt_texts_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "prompt_id", name=op.f("pk_prompt_texts")),
    )
    op.execute(
        "INSERT INTO prompt_texts (run_id, prompt_id, content, answer) "
        "SELECT DISTINCT ON (run_id, prompt_id) run_id, prompt_id, record ->> 'prompt', record -> 'answer' "
        "FROM samples ORDER BY run_id, prompt_id, step DESC"
    )
    op.add_column("samples", sa.Column("num_correct", sa.Integer(), nullable=True))
    op.execute("UPDATE samples SET num_correct = (record ->> 'num_correct')::integer")
    op.alter_column("samples", "num_correct", nullable=False)


def downgrade() -> None:
    """Take back."""
    op.drop_column("samples", "num_correct")
    op.drop_table("prompt_texts")
