"""Registered data sets, models and verifiers, and the runs that use them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Resource(Base):
    """A file or folder under a name."""

    __tablename__ = "resources"
    __table_args__ = (
        CheckConstraint("kind IN ('dataset', 'model', 'verifier')", name="kind"),
        UniqueConstraint("project_id", "kind", "name"),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    kind: Mapped[str]
    name: Mapped[str]
    path: Mapped[str]
    """Absolute, links followed."""
    function: Mapped[str | None]
    description: Mapped[str]
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    details: Mapped[dict[str, Any]]


class RunResource(Base):
    """A run's config names a file or folder; kept for all runs, registered or not, as registering may come later."""

    __tablename__ = "run_resources"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    field: Mapped[str] = mapped_column(primary_key=True)
    """The config field, such as `model.path`."""
    reference: Mapped[str] = mapped_column(index=True)
    """Value in the config: a path, and for a verifier `PATH:FUNCTION`."""
