"""Alert rules, their memory of runs, and alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class AlertRule(Base):
    """Something to watch in some runs of a project."""

    __tablename__ = "alert_rules"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    condition: Mapped[dict[str, Any]]
    tag: Mapped[str | None]
    method: Mapped[str | None]
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    enabled: Mapped[bool]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class AlertWatch(Base):
    """The state of a rule for a run, so that it reads each step once."""

    __tablename__ = "alert_watches"

    rule_id: Mapped[str] = mapped_column(ForeignKey("alert_rules.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True, index=True)
    step: Mapped[int]
    """Last step that it read."""
    memory: Mapped[dict[str, Any]]


class Alert(Base):
    """Something that a rule found in a run."""

    __tablename__ = "alerts"
    __table_args__ = (
        # A rule that reads the same steps again finds the same alert again.
        UniqueConstraint("rule_id", "run_id", "occurrence"),
        Index("ix_alerts_run", "run_id", "id"),
        Index("ix_alerts_open", "run_id", postgresql_where=text("resolved_at IS NULL")),
        Index("ix_alerts_unseen", "run_id", postgresql_where=text("resolved_at IS NULL AND acknowledged_at IS NULL")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    rule_id: Mapped[str | None] = mapped_column(ForeignKey("alert_rules.id", ondelete="SET NULL"))
    rule_name: Mapped[str]
    kind: Mapped[str]
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    occurrence: Mapped[str]
    """Step or attempt at which the alert began, which identifies it."""
    step: Mapped[int]
    value: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    message: Mapped[str]
    advice: Mapped[str]
    link: Mapped[str]
    opened_at: Mapped[datetime] = mapped_column(server_default=func.now())
    resolved_at: Mapped[datetime | None]
    resolved_step: Mapped[int | None]
    resolution: Mapped[str | None]
    acknowledged_at: Mapped[datetime | None]
    acknowledged_by: Mapped[str | None]


class AlertFollower(Base):
    """The last event that alerts were made of: one row."""

    __tablename__ = "alert_follower"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    stream_id: Mapped[int] = mapped_column(BigInteger)
    looked_at: Mapped[datetime]
    """When the runs were last looked at for a standstill."""
