"""Lists and changes prices: those that administrators set, else those of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem
from backend.kit.permissions import GRANTED, Permission
from backend.kit.principal import Principal
from backend.models import PriceRow, Worker
from backend.prices.hours import HourPrice, Machine, Prices
from backend.settings.environment import Settings
from bapo.api.prices import CurrencyWrite, MachinePrice, PriceChange, PriceList, PriceScope, PriceWrite

OF_SETTINGS = "settings"
"""Author of the prices from the environment, which applied before a user set one."""


def price_list(session: Session, settings: Settings, caller: Principal) -> PriceList:
    """Return all prices as this caller sees them."""
    prices, now = prices_in_force(session, settings), clock(session)
    return PriceList(
        currency=prices.currency,
        items=[_now(prices, now, scope, machine) for scope, machine in _machines(session)],
        history=[rendered(PriceChange, row) for row in sorted(price_rows(session), key=lambda row: -row.id)],
        may_edit=Permission.ADMIN in GRANTED[caller.role],
    )


def _machines(session: Session) -> list[tuple[PriceScope, Machine]]:
    """Return everything that can have a price: the general kinds, each kind of GPU, each worker."""
    workers = session.scalars(select(Worker).where(Worker.forgotten_at.is_(None)).order_by(Worker.name)).all()
    kinds = sorted({gpu["name"] for worker in workers for gpu in worker.gpus})
    return [
        ("gpu", Machine(1)),
        ("slot", Machine(0)),
        *(("gpu_name", Machine(1, kind)) for kind in kinds),
        *(
            ("worker", Machine(len(worker.gpus), worker.gpus[0]["name"] if worker.gpus else None, worker.name))
            for worker in workers
        ),
    ]


def _now(prices: Prices, now: datetime, scope: PriceScope, machine: Machine) -> MachinePrice:
    # The most particular name is the machine's own.
    _, name = machine.scopes[0]
    own = prices.own(now, scope, name)
    return MachinePrice(
        scope=scope,
        name=name,
        hour_price=None if own is None else own.price,
        applies=prices.at(now, machine),
        since=None if own is None else own.since,
    )


_FIRST: Mapping[PriceScope, str] = {
    "gpu_name": "no machine with a GPU has joined yet: give the price without the kind (`bapo prices set` without "
    "--gpu), which is then that of all, or start a worker there first",
    "worker": "no worker has joined yet: start it first, or give the price without its name (`bapo prices set` without "
    "--worker; with --slot for machines without GPUs)",
}
"""Remedy by scope if no GPU or worker could have the name yet."""


def set_price(session: Session, settings: Settings, change: PriceWrite, caller: Principal) -> None:
    """Add a price. Raises Problem 422 for a kind of GPU or a worker that is not known."""
    known = [machine.scopes[0][1] for scope, machine in _machines(session) if scope == change.scope]
    if change.name not in known:
        what = "worker" if change.scope == "worker" else "kind of GPU"
        remedy = f"no {what} has that name: give one of {', '.join(known)}" if known else _FIRST[change.scope]
        raise Problem(422, "unknown_machine", remedy, field="name", value=change.name)
    prices = _kept(session, settings)
    is_first = not any(each.scope == change.scope for each in prices.entries)
    starts = change.since is None and is_first and change.scope in ("gpu", "slot")
    since = None if starts else change.since or clock(session)
    _add(session, prices.currency, HourPrice(change.scope, change.name, change.hour_price, since), author=caller.name)
    detail = {**change.model_dump(exclude={"since"}), "since": since and since.isoformat(), "currency": prices.currency}
    add_audit(session, None, caller.name, "price_set", detail)


def set_currency(session: Session, settings: Settings, change: CurrencyWrite, caller: Principal) -> None:
    """Convert all prices. Raises Problem 409 while there is none to convert."""
    prices = _kept(session, settings)
    if not prices.entries:
        remedy = "there is no price yet: set one first"
        raise Problem(409, "no_prices", remedy, field="currency", value=change.currency)
    session.flush()
    session.execute(update(PriceRow).values(currency=change.currency, hour_price=PriceRow.hour_price * change.rate))
    detail = {"from": prices.currency, "to": change.currency, "rate": change.rate}
    add_audit(session, None, caller.name, "currency_set", detail)


def _kept(session: Session, settings: Settings) -> Prices:
    """Return the prices, with those of the settings among the rows from now on: what they cost stays what it was."""
    prices = prices_in_force(session, settings)
    if not price_rows(session):
        _add(session, prices.currency, *prices_of_settings(settings), author=OF_SETTINGS)
    return prices


def _add(session: Session, currency: str, *prices: HourPrice, author: str) -> None:
    for each in prices:
        session.add(
            PriceRow(
                scope=each.scope,
                name=each.name,
                hour_price=each.price,
                currency=currency,
                since=each.since,
                author=author,
            )
        )


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
