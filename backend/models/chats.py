"""Chats of people with the models of runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id
from backend.models.records import RUN_ID


class Chat(Base):
    """A message to the models of a run, with their answers."""

    __tablename__ = "chats"
    __table_args__ = (
        CheckConstraint("state IN ('requested', 'answering', 'answered', 'failed')", name="state"),
        Index("ix_chats_run", "run_id", "requested_at"),
        Index("ix_chats_open", "host", postgresql_where=text("state IN ('requested', 'answering')")),
    )

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"))
    author: Mapped[str]
    prompt: Mapped[str]
    sides: Mapped[list[str]] = mapped_column(ARRAY(Text))
    max_tokens: Mapped[int]
    temperature: Mapped[float] = mapped_column(DOUBLE_PRECISION)
    seed: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(server_default="requested")
    reason: Mapped[str | None]
    requested_at: Mapped[datetime] = mapped_column(server_default=func.now())
    answered_at: Mapped[datetime | None]
    host: Mapped[str]
    """The machine that has the run's folder."""
    worker_id: Mapped[str | None] = mapped_column(ForeignKey("workers.id", ondelete="SET NULL"))
    """The worker whose models answer."""
    answers: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=text("'[]'"))
    """`bapo.api.chats.ChatAnswer` of each side so far."""
