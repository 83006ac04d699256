"""Passwords, memberships, tokens with scopes and expiry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    _time = sa.DateTime(timezone=True)
    op.add_column("projects", sa.Column("description", sa.Text(), server_default="", nullable=False))
    op.add_column("projects", sa.Column("archived_at", _time, nullable=True))
    op.add_column("users", sa.Column("password_hash", sa.Text(), nullable=True))
    op.add_column("users", sa.Column("password_changed_at", _time, nullable=True))
    op.create_table(
        "memberships",
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", _time, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'member', 'admin')", name=op.f("ck_memberships_role")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_memberships_project_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_memberships_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_user_id"), "memberships", ["user_id"], unique=False)
    # There was one project, and everybody worked in it.
    op.execute("INSERT INTO memberships (project_id, user_id, role) SELECT p.id, u.id, u.role FROM projects p, users u")

    op.add_column("sessions", sa.Column("id", sa.Text(), nullable=True))
    op.execute("UPDATE sessions SET id = left(secret_hash, 10)")
    op.alter_column("sessions", "id", nullable=False)
    op.create_unique_constraint(op.f("uq_sessions_id"), "sessions", ["id"])
    op.add_column("sessions", sa.Column("last_seen_at", _time, server_default=sa.text("now()"), nullable=False))
    op.add_column("sessions", sa.Column("user_agent", sa.Text(), server_default="", nullable=False))

    op.add_column("login_codes", sa.Column("purpose", sa.Text(), server_default="login", nullable=False))
    op.create_check_constraint(op.f("ck_login_codes_purpose"), "login_codes", "purpose IN ('login', 'password')")
    op.create_table(
        "login_attempts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at", _time, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("succeeded", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_attempts")),
    )
    op.create_index("ix_login_attempts_name", "login_attempts", ["name", "at"], unique=False)
    op.create_index("ix_login_attempts_address", "login_attempts", ["address", "at"], unique=False)

    op.add_column("api_tokens", sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=True))
    op.execute("""
        UPDATE api_tokens
        SET scopes = CASE kind WHEN 'worker' THEN ARRAY['work'] ELSE ARRAY['read', 'write', 'admin'] END
    """)
    op.alter_column("api_tokens", "scopes", nullable=False)
    op.add_column("api_tokens", sa.Column("prefix", sa.Text(), server_default="", nullable=False))
    op.add_column("api_tokens", sa.Column("expires_at", _time, nullable=True))
    op.add_column("api_tokens", sa.Column("last_used_at", _time, nullable=True))
    op.create_index("ix_runs_created", "runs", ["created_at", "id"], unique=False)


def downgrade() -> None:
    """Take back."""
    op.drop_index("ix_runs_created", "runs")
    # What expires or may do less would do more without the columns that say so.
    op.execute("DELETE FROM login_codes WHERE purpose <> 'login'")
    op.execute("UPDATE api_tokens SET revoked_at = now() WHERE expires_at IS NOT NULL AND revoked_at IS NULL")
    op.execute("""
        UPDATE api_tokens SET revoked_at = now()
        WHERE kind = 'user' AND NOT scopes @> ARRAY['read', 'write', 'admin'] AND revoked_at IS NULL
    """)
    for column in ("last_used_at", "expires_at", "prefix", "scopes"):
        op.drop_column("api_tokens", column)
    op.drop_table("login_attempts")
    op.drop_constraint(op.f("ck_login_codes_purpose"), "login_codes")
    op.drop_column("login_codes", "purpose")
    for column in ("user_agent", "last_seen_at", "id"):
        op.drop_column("sessions", column)
    op.drop_table("memberships")
    for column in ("password_changed_at", "password_hash"):
        op.drop_column("users", column)
    for column in ("archived_at", "description"):
        op.drop_column("projects", column)
