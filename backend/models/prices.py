"""Prices of compute hours."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, func
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base


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
