"""Idempotent requests and their responses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class IdempotentRequest(Base):
    """A request that came with an `Idempotency-Key`; the key is its sender's own."""

    __tablename__ = "idempotent_requests"

    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    """SHA-256 of address and body: tells whether a second request is the same."""
    answer: Mapped[dict[str, Any] | None]
    """Set in the transaction that makes the row."""
    created_at: Mapped[datetime] = mapped_column(server_default=func.now(), index=True)
