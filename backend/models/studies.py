"""Studies and their runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Text, func
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class Study(Base):
    """A group whose runs were made together and are read together; it has the group's identifier."""

    __tablename__ = "studies"
    __table_args__ = (
        CheckConstraint("(text IS NULL) = (digest IS NULL)", name="declaration"),
        CheckConstraint("(further_steps IS NULL) = (checkpoints = '[]')", name="experiment"),
    )

    id: Mapped[str] = mapped_column(ForeignKey("run_groups.id", ondelete="CASCADE"), primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    text: Mapped[str | None]
    """The study file; None for a grid or a list of runs."""
    digest: Mapped[str | None]
    """SHA-256 of the file's content."""
    fields: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """The fields that a grid or list varies, in the order given."""
    recipe: Mapped[str | None]
    """`None` for a study file, which names its own."""
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    base: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Dotted fields that all runs of a grid or list set."""
    tags: Mapped[list[str]] = mapped_column(ARRAY(Text))
    """Tags of every run."""
    notes: Mapped[str]
    priority: Mapped[int]
    checkpoints: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default="[]")
    """`ForkedFrom` of each checkpoint of a fork experiment; its runs are ordered by checkpoint."""
    further_steps: Mapped[int | None]
    """Number of further steps of a fork experiment."""
    choices: Mapped[list[dict[str, Any]] | None] = mapped_column(JSONB(none_as_null=True))
    """Choices of tuning, as `regime`, `arm` and `set`; `None` until all runs can be submitted."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class StudyRun(Base):
    """A run that a study asks for."""

    __tablename__ = "study_runs"

    study_id: Mapped[str] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[int]
    """In the order of the plan."""
    point: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Values of the fields that a grid or list varies."""
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"), index=True)
    """ID of the run; `None` before it is submitted, and after it was deleted."""
    was_submitted: Mapped[bool]
