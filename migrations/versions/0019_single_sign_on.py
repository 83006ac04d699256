"""Identities at a provider of single sign-on, and memberships that its claims give."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("users", sa.Column("email", sa.Text()))
    op.add_column("memberships", sa.Column("from_claim", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("sessions", sa.Column("id_token", sa.Text()))
    op.create_table(
        "identities",
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("last_login_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_identities_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_identities")),
    )
    op.create_index(op.f("ix_identities_user_id"), "identities", ["user_id"])
    op.create_table(
        "pending_sign_ins",
        sa.Column("state_hash", sa.Text(), nullable=False),
        sa.Column("browser_hash", sa.Text(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("state_hash", name=op.f("pk_pending_sign_ins")),
    )
    op.create_index("ix_pending_sign_ins_address", "pending_sign_ins", ["address"])


def downgrade() -> None:
    """Take back."""
    op.drop_table("pending_sign_ins")
    op.drop_table("identities")
    op.drop_column("sessions", "id_token")
    op.drop_column("memberships", "from_claim")
    op.drop_column("users", "email")
