"""The event log."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, func
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


class StreamRow(Base):
    """One server-sent event. Rows are written under a lock, so that identifiers are in the order of the commits."""

    __tablename__ = "stream"
    __table_args__ = (Index("ix_stream_run", "run_id", "id"), Index("ix_stream_at", "at"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    event: Mapped[str]
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
