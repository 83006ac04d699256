"""Projects, people, their sessions and tokens. Secrets are stored as SHA-256 of 256 random bits, never in the clear."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Project(Base):
    """Owns runs; its members see them."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    description: Mapped[str] = mapped_column(server_default="")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    archived_at: Mapped[datetime | None]
    """An archived project takes no new runs."""


class User(Base):
    """A person."""

    __tablename__ = "users"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'member', 'admin')", name="role"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    email: Mapped[str | None]
    """E-mail address that an administrator or the provider of single sign-on set; it is not used to log in."""
    role: Mapped[str]
    """The most that they may do on this server; `Membership` says what they may do where."""
    password_hash: Mapped[str | None]
    """Argon2id, with its parameters and salt; None where they log in by links and tokens only."""
    password_changed_at: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    disabled_at: Mapped[datetime | None]
    max_running: Mapped[int | None]
    """Most of this person's runs that workers hold at a time; None: as the server is set."""
    run_list: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """`RunListLayouts` of this person; None before they changed anything."""


class Membership(Base):
    """The role of a user in a project."""

    __tablename__ = "memberships"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'member', 'admin')", name="role"),)

    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, index=True)
    role: Mapped[str]
    from_claim: Mapped[bool] = mapped_column(server_default=text("false"))
    """True if a claim of single sign-on gave it, which then also takes it away; else a person did."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ProviderIdentity(Base):
    """A person as the provider of single sign-on knows them."""

    __tablename__ = "identities"

    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    """Identifier that is unique at the issuer and never reused; names and addresses are."""
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_login_at: Mapped[datetime] = mapped_column(server_default=func.now())


class PendingSignIn(Base):
    """A sign-in that has gone to the provider and may come back once."""

    __tablename__ = "pending_sign_ins"
    __table_args__ = (Index("ix_pending_sign_ins_address", "address"),)

    state_hash: Mapped[str] = mapped_column(primary_key=True)
    browser_hash: Mapped[str]
    """Hash of the secret in the cookie of the browser that began it; nonce and code verifier are derived from it."""
    issuer: Mapped[str]
    address: Mapped[str]
    expires_at: Mapped[datetime]


class Session(Base):
    """A login from a browser."""

    __tablename__ = "sessions"

    id: Mapped[str] = mapped_column(unique=True, default=new_id)
    """Names the login where its secret must not be shown."""
    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    user_agent: Mapped[str] = mapped_column(server_default="")
    """Browser's own user agent."""
    id_token: Mapped[str | None]
    """ID token of a login by single sign-on, to end the provider's session with; it grants no access."""


class LoginCode(Base):
    """A code that is good for one login, or for setting a password without the old one."""

    __tablename__ = "login_codes"
    __table_args__ = (CheckConstraint("purpose IN ('login', 'password')", name="purpose"),)

    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    purpose: Mapped[str] = mapped_column(server_default="login")


class LoginAttempt(Base):
    """A try to log in with a password; failures slow down those that follow, in all server processes."""

    __tablename__ = "login_attempts"
    __table_args__ = (
        Index("ix_login_attempts_name", "name", "at"),
        Index("ix_login_attempts_address", "address", "at"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    """Name as typed, known or not."""
    address: Mapped[str]
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    succeeded: Mapped[bool] = mapped_column(server_default=text("false"))


class ApiToken(Base):
    """A bearer token, of a person or, without one, of workers."""

    __tablename__ = "api_tokens"
    __table_args__ = (CheckConstraint("kind IN ('user', 'worker')", name="kind"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    secret_hash: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    kind: Mapped[str]
    user_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    revoked_at: Mapped[datetime | None]
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Scopes of a user's token: `read`, `write`, `admin`; of workers' tokens: `work`."""
    prefix: Mapped[str] = mapped_column(server_default="")
    """First characters of the secret, to tell tokens apart."""
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class IdempotentRequest(Base):
    """A request that came with an `Idempotency-Key`; the key is its sender's own."""

    __tablename__ = "idempotent_requests"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    """SHA-256 of address and body, by which a repeated request is recognised."""
    answer: Mapped[dict[str, Any] | None]
    """Set in the transaction that makes the row."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)
