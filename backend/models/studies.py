"""Studies: a declaration and the runs that it asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class Study(Base):
    """A group whose runs were declared before the first of them; it has the group's identifier."""

    __tablename__ = "studies"

    id: Mapped[str] = mapped_column(ForeignKey("run_groups.id", ondelete="CASCADE"), primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    text: Mapped[str]
    """The study file."""
    digest: Mapped[str]
    """Of its content."""
    priority: Mapped[int]
    choices: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True))
    """What tuning chose, as `regime`, `arm` and `set`; None until all that can be submitted is."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class StudyRun(Base):
    """A run that a study asks for."""

    __tablename__ = "study_runs"

    study_id: Mapped[str] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[int]
    """In the order of the plan."""
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    """None before it is submitted, and after it was deleted."""
    was_submitted: Mapped[bool]
