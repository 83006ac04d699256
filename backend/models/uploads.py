"""Files that people upload, and the versions of data sets and models that were made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id

PROJECT_ID = "projects.id"
USER_ID = "users.id"


class Upload(Base):
    """A file on its way: received in part, or whole and not registered yet. It lies under its identifier."""

    __tablename__ = "uploads"
    __table_args__ = (
        CheckConstraint("kind IN ('dataset', 'model')", name="kind"),
        CheckConstraint("state IN ('receiving', 'fetching', 'checking', 'checked', 'failed')", name="state"),
        CheckConstraint("state <> 'fetching' OR source IS NOT NULL", name="source"),
        Index("ix_uploads_project", "project_id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey(PROJECT_ID))
    owner_id: Mapped[str] = mapped_column(ForeignKey(USER_ID))
    kind: Mapped[str]
    file_name: Mapped[str]
    source: Mapped[str | None]
    """Source from which the server fetches it; `None` if a client sends it."""
    num_bytes: Mapped[int] = mapped_column(BigInteger)
    received_bytes: Mapped[int] = mapped_column(BigInteger, server_default="0")
    crc32: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """CRC-32 of the bytes received."""
    state: Mapped[str] = mapped_column(server_default="receiving")
    mapping: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Columns that were asked for; None: the likeliest are taken."""
    result: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Result of the last check."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    touched_at: Mapped[datetime] = mapped_column(server_default=func.now())
    """Time of the last activity, which determines when it expires."""


class ResourceVersion(Base):
    """Content of an uploaded resource; it never changes. Without its name it stays while runs refer to it."""

    __tablename__ = "resource_versions"
    __table_args__ = (UniqueConstraint("resource_id", "number"), UniqueConstraint("path"))

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey(PROJECT_ID), index=True)
    resource_id: Mapped[str | None] = mapped_column(ForeignKey("resources.id", ondelete="SET NULL"))
    """ID of the resource; `None` if the name was removed."""
    number: Mapped[int]
    sha256: Mapped[str]
    path: Mapped[str]
    """The file or folder, as configs name it."""
    files: Mapped[dict[str, Any]]
    """Files of the content: name beneath the folder of `path` → SHA-256 and bytes."""
    num_bytes: Mapped[int] = mapped_column(BigInteger)
    file_name: Mapped[str]
    """Name of the uploaded file."""
    licence: Mapped[str]
    owner_id: Mapped[str] = mapped_column(ForeignKey(USER_ID))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    details: Mapped[dict[str, Any]]
    report: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
