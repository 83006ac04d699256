"""Projects, people, their sessions and tokens. Secrets are stored as SHA-256 of 256 random bits, never in the clear."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Project(Base):
    """What runs belong to."""

    __tablename__ = "projects"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class User(Base):
    """A person."""

    __tablename__ = "users"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'member', 'admin')", name="role"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    disabled_at: Mapped[datetime | None]


class Session(Base):
    """A login from a browser."""

    __tablename__ = "sessions"

    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]


class LoginCode(Base):
    """A code that is good for one login."""

    __tablename__ = "login_codes"

    secret_hash: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]


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
