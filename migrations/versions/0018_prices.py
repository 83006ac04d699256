"""Prices that administrators set, with their history; attempts know on which kind of GPU they trained."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "prices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hour_price", postgresql.DOUBLE_PRECISION()),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True)),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.CheckConstraint("scope IN ('gpu', 'slot', 'gpu_name', 'worker')", name=op.f("ck_prices_scope")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prices")),
    )
    op.add_column("attempts", sa.Column("gpu_name", sa.Text()))
    # Of the past, the kind that the worker has now.
    op.execute("""
        UPDATE attempts SET gpu_name = (
            SELECT gpu ->> 'name' FROM workers, jsonb_array_elements(workers.gpus) AS gpu
            WHERE workers.id = attempts.worker_id
            ORDER BY (gpu ->> 'index')::integer = ANY(attempts.gpus) DESC LIMIT 1
        ) WHERE num_gpus > 0
    """)


def downgrade() -> None:
    """Take back."""
    op.drop_column("attempts", "gpu_name")
    op.drop_table("prices")
