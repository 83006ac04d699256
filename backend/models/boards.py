"""Boards of charts, their links, and saved views of the run list."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Text, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Board(Base):
    """Panels about runs of one project, for all its members."""

    __tablename__ = "boards"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    name: Mapped[str]
    filters: Mapped[dict[str, Any]]
    panels: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)
    """In their order; each as a `Panel` of the API."""
    version: Mapped[int] = mapped_column(server_default=text("1"))
    author: Mapped[str]
    """Names, as in the audit trail: a board outlives who made it."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_by: Mapped[str]
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class BoardLink(Base):
    """A secret address that shows a board without a login, until it expires or is revoked."""

    __tablename__ = "board_links"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    """The board's: who does not see the project does not see its links."""
    board_id: Mapped[str] = mapped_column(ForeignKey("boards.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(unique=True)
    prefix: Mapped[str]
    """First characters of the secret, to tell links apart."""
    author: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    revoked_by: Mapped[str | None]
    last_opened_at: Mapped[datetime | None]


class SavedView(Base):
    """Filters, order and columns under a name, for everybody in the project."""

    __tablename__ = "saved_views"
    __table_args__ = (UniqueConstraint("project_id", "owner_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str]
    filters: Mapped[dict[str, Any]]
    sort: Mapped[str]
    columns: Mapped[list[str]] = mapped_column(ARRAY(Text))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())
