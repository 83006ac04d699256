"""Checks whether the server can work, at most once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from backend.fleet.dispatch.dispatcher import DISPATCH_LOCK, Dispatcher
from backend.kit.database import Database
from backend.ops.migrate import SchemaError, check_schema
from bapo import __version__
from bapo.api.service import Readiness, ReadinessCheck

KEPT_SECONDS = 1.0
"""It answers strangers, who shall not keep the database busy."""
STUCK_SECONDS = 30.0
"""A round of the dispatcher takes milliseconds."""

_LEADER = text("""
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
              AND classid = CAST(:key >> 32 AS oid) AND objid = CAST(:key & 4294967295 AS oid)
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
""")


class ReadinessCache:
    """The last answer, and when it was found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: tuple[float, Readiness] | None = None

    def get(self, ask: Callable[[], Readiness]) -> Readiness:
        """Return the server's readiness, at most `KEPT_SECONDS` old."""
        with self._lock:
            if self._found is None or time.monotonic() - self._found[0] > KEPT_SECONDS:
                found = ask()
                self._found = (time.monotonic(), found)
            return self._found[1]


def has_leader(session: Session) -> bool:
    """Return whether some server gives out runs."""
    return bool(session.execute(_LEADER, {"key": DISPATCH_LOCK}).scalar_one())


def readiness(database: Database, dispatcher: Dispatcher) -> Readiness:
    """Ask every part."""
    checks = [_database(database)]
    # Without the database nothing is known of these.
    if checks[0].ok:
        checks += [_schema(database), _dispatcher(database, dispatcher)]
    checks.append(_broker(dispatcher))
    return Readiness(ready=all(check.ok for check in checks), version=__version__, checks=checks)


def _check(name: str, problem: str | None, good: str = "ok") -> ReadinessCheck:
    return ReadinessCheck(name=name, ok=problem is None, message=problem or good)


def _database(database: Database) -> ReadinessCheck:
    try:
        with database.session() as session:
            session.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return _check("database", "PostgreSQL does not answer: see the log of the server, then that of PostgreSQL")
    return _check("database", None)


def _schema(database: Database) -> ReadinessCheck:
    try:
        check_schema(database.engine)
    except SchemaError as error:
        return _check("schema", str(error))
    except SQLAlchemyError:
        return _check("schema", "PostgreSQL does not answer")
    return _check("schema", None)


def _dispatcher(database: Database, dispatcher: Dispatcher) -> ReadinessCheck:
    if not dispatcher.is_alive():
        return _check("dispatcher", "this server's dispatcher has stopped: restart the server")
    stuck = dispatcher.seconds_in_round()
    if stuck is not None and stuck > STUCK_SECONDS:
        return _check("dispatcher", f"its round has taken {stuck:.0f} s: see the server's log")
    try:
        with database.session() as session:
            found = has_leader(session)
    except SQLAlchemyError:
        return _check("dispatcher", "PostgreSQL does not answer")
    return _check("dispatcher", None if found else "no server is the dispatcher yet: wait a few seconds")


def _broker(dispatcher: Dispatcher) -> ReadinessCheck:
    problem = dispatcher.broker.problem()
    if problem is not None:
        problem = "Redis does not answer: queued runs wait until it does; see its log"
    return _check("broker", problem)
