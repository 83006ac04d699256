"""The machines that train."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Worker(Base):
    """A worker, known by its name over restarts."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    token_id: Mapped[str] = mapped_column(ForeignKey("api_tokens.id"))
    host: Mapped[str]
    slots: Mapped[int]
    gpus: Mapped[list[str]] = mapped_column(ARRAY(Text))
    version: Mapped[str]
    queue: Mapped[str]
    registered_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    system: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
