"""The prices of a deployment: those that administrators set, else those of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import PriceRow
from backend.prices.hours import HourPrice, Prices
from backend.settings.environment import Settings
from bapo.api.prices import PriceScope


def prices_in_force(session: Session, settings: Settings) -> Prices:
    """Return all prices by the moment from which they apply; of two for one moment the later change comes last, and
    counts."""
    rows = price_rows(session)
    if not rows:
        return Prices(settings.currency, prices_of_settings(settings))
    entries = [HourPrice(cast("PriceScope", row.scope), row.name, row.hour_price, row.since) for row in rows]
    return Prices(rows[0].currency, entries)


def price_rows(session: Session) -> Sequence[PriceRow]:
    """Return all changes that administrators made, in the order in which they take effect."""
    return session.scalars(select(PriceRow).order_by(PriceRow.since.nulls_first(), PriceRow.id)).all()


def prices_of_settings(settings: Settings) -> list[HourPrice]:
    """Return the prices in the environment, which apply from the beginning."""
    general: tuple[tuple[PriceScope, float | None], ...] = (
        ("gpu", settings.gpu_hour_price),
        ("slot", settings.cpu_hour_price),
    )
    return [HourPrice(scope, "", price, None) for scope, price in general if price is not None]
