"""Workers, and the prices of their hours."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, func, text
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, new_id


class Worker(Base):
    """A worker, known by its name over restarts."""

    __tablename__ = "workers"
    __table_args__ = (CheckConstraint("delivery IN ('broker', 'https')", name="delivery"),)

    id: Mapped[str] = mapped_column(primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(unique=True)
    token_id: Mapped[str] = mapped_column(ForeignKey("api_tokens.id"))
    host: Mapped[str]
    slots: Mapped[int]
    gpus: Mapped[list[dict[str, Any]]] = mapped_column(JSONB)
    """Those that it may use, as `bapo.api.GpuInfo`."""
    memory_gib: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """Main memory; None where it has not said."""
    version: Mapped[str]
    queue: Mapped[str]
    """Celery queue of the worker; unused if it polls for its runs over HTTPS."""
    delivery: Mapped[str] = mapped_column(server_default="broker")
    """Way in which it receives its runs, see `bapo.api.workers.Delivery`."""
    registered_at: Mapped[datetime] = mapped_column(server_default=func.now())
    last_seen_at: Mapped[datetime] = mapped_column(server_default=func.now())
    draining_at: Mapped[datetime | None]
    """Since when it gets no new runs."""
    drain_hands_on: Mapped[bool] = mapped_column(server_default=text("false"))
    """True if a draining worker also gives back the runs that it has."""
    drain_before: Mapped[datetime | None]
    """When its machine ends; None where that is not known."""
    forgotten_at: Mapped[datetime | None]
    """Lists leave it out until it registers again."""
    system: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))


class PriceRow(Base):
    """A price from a moment on; none is ever changed but by another currency."""

    __tablename__ = "prices"
    __table_args__ = (CheckConstraint("scope IN ('gpu', 'slot', 'gpu_name', 'worker')", name="scope"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    scope: Mapped[str]
    name: Mapped[str]
    hour_price: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """Price per hour; `None` if the scope inherits the general price from then on."""
    currency: Mapped[str]
    """The same in all rows."""
    since: Mapped[datetime | None]
    """Start of the price; `None` for the beginning."""
    made_at: Mapped[datetime] = mapped_column(server_default=func.now())
    author: Mapped[str]
