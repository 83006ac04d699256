"""Webhooks and their messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Webhook(Base):
    """An address that is notified of what happens in a project."""

    __tablename__ = "webhooks"
    __table_args__ = (CheckConstraint("format IN ('json', 'slack', 'discord', 'text')", name="format"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"), index=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))
    name: Mapped[str]
    url: Mapped[str]
    format: Mapped[str]
    events: Mapped[list[str]] = mapped_column(ARRAY(Text))
    secret: Mapped[str]
    """In the clear: messages are signed with it."""
    enabled: Mapped[bool]
    disabled_reason: Mapped[str | None]
    failing_since: Mapped[datetime | None]
    num_failures: Mapped[int] = mapped_column(server_default="0")
    """Tries that failed since the last success."""
    resume_at: Mapped[datetime | None]
    """Nothing is sent before this."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class Delivery(Base):
    """One message to one webhook, written in the transaction of what it tells about."""

    __tablename__ = "deliveries"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'delivered', 'given_up')", name="state"),
        Index("ix_deliveries_webhook", "webhook_id", "id"),
        Index("ix_deliveries_waiting", "webhook_id", "id", postgresql_where=text("state = 'waiting'")),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    event: Mapped[str]
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), index=True)
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    state: Mapped[str] = mapped_column(server_default="waiting")
    num_tries: Mapped[int] = mapped_column(server_default="0")
    first_try_at: Mapped[datetime | None]
    last_try_at: Mapped[datetime | None]
    next_try_at: Mapped[datetime | None]
    status_code: Mapped[int | None]
    response: Mapped[str | None]
    problem: Mapped[str | None]
    seconds: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
