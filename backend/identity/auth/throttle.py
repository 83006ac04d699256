"""Slows down password guessing across all server processes, without locking anybody out.

Failures count for a name from one address, for an address, and for a name; a try counts as a failure from its beginning
until it has succeeded, so that many at once gain nothing. A refused try does not count: further tries during the wait
do not prolong it. The limit of a name holds only for addresses from which its owner has never logged in: others
who try a name do not keep its owner out. An IPv6 address counts as its /64 network, all of which one client has.
"""

from __future__ import annotations

import math

from sqlalchemy import ColumnElement, delete, exists, func, select, text, update
from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.models import LoginAttempt
from bapo.deploy.proxies import network_of

WINDOW_SECONDS = 300.0
"""A failure is forgotten after so long."""
MOST_OF_NAME_AND_ADDRESS = 5
MOST_OF_NAME = 20
MOST_OF_ADDRESS = 50
"""Several people may share one."""
REMEMBERED_SECONDS = 90 * 86_400.0
"""For so long an address is known after a success."""

_LOCKS = text("SELECT pg_advisory_xact_lock(1819239283, hashtext(:name))")


def begin(session: Session, name: str, address: str) -> int:
    """Note a try; its identifier. Raises Problem 429 where there were too many failures."""
    address = network_of(address)
    # Of several tries at once for a name each sees those before it.
    session.execute(_LOCKS, {"name": name})
    limits: list[tuple[int, ColumnElement[bool]]] = [
        (MOST_OF_NAME_AND_ADDRESS, (LoginAttempt.name == name) & (LoginAttempt.address == address)),
        (MOST_OF_ADDRESS, LoginAttempt.address == address),
    ]
    if not _is_known(session, name, address):
        limits.append((MOST_OF_NAME, LoginAttempt.name == name))
    wait = max(_wait_seconds(session, limit, condition) for limit, condition in limits)
    if wait > 0:
        seconds = math.ceil(wait)
        remedy = f"too many failed logins: try again in {seconds} s, or ask an administrator for a one-time link"
        raise Problem(429, "too_many_attempts", remedy, headers={"Retry-After": str(seconds)})
    attempt = LoginAttempt(name=name, address=address)
    session.add(attempt)
    session.flush()
    return attempt.id


def succeeded(session: Session, attempt_id: int, name: str, address: str) -> None:
    """Delete earlier failures of the same user from the same network after a success, and old failures of all users."""
    address = network_of(address)
    session.execute(update(LoginAttempt).where(LoginAttempt.id == attempt_id).values(succeeded=True))
    same = (LoginAttempt.name == name) & (LoginAttempt.address == address) & ~LoginAttempt.succeeded
    session.execute(delete(LoginAttempt).where(same & (LoginAttempt.id < attempt_id)))
    session.execute(delete(LoginAttempt).where(~LoginAttempt.succeeded & (LoginAttempt.at < _ago(WINDOW_SECONDS))))
    session.execute(delete(LoginAttempt).where(LoginAttempt.at < _ago(REMEMBERED_SECONDS)))


def _is_known(session: Session, name: str, address: str) -> bool:
    query = exists().where(LoginAttempt.name == name, LoginAttempt.address == address, LoginAttempt.succeeded)
    return session.scalars(select(query)).one()


def _wait_seconds(session: Session, limit: int, condition: ColumnElement[bool]) -> float:
    """Time until fewer than `limit` failures are left in the window: until the limit-th newest leaves it."""
    query = (
        select(WINDOW_SECONDS - func.extract("epoch", func.clock_timestamp() - LoginAttempt.at))
        .where(condition, ~LoginAttempt.succeeded, LoginAttempt.at > _ago(WINDOW_SECONDS))
        .order_by(LoginAttempt.at.desc())
        .offset(limit - 1)
        .limit(1)
    )
    left = session.scalars(query).one_or_none()
    return 0.0 if left is None else float(left)


def _ago(seconds: float) -> ColumnElement[object]:
    return func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, seconds)
