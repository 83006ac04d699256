"""Background threads of which one works at a time, however many servers run: the one that holds a database lock."""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from backend.kit.database import Database

LOG = logging.getLogger(__name__)


class LeaderThread(threading.Thread):
    """Works in rounds while no other server does, and at once when it is woken."""

    busy_share = 0.2
    """Most of its time that the thread works; the rest is left to the threads that serve requests."""

    def __init__(self, name: str, database: Database, lock: int, interval_seconds: float) -> None:
        super().__init__(name=name, daemon=True)
        self._database = database
        self._lock = lock
        self._interval = interval_seconds
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._leads = threading.Event()
        """Set from the beginning of the lead to its end: what runs in other threads for this one asks it."""

    def work(self) -> None:
        """Run one round, each change in a separate transaction: the thread may be killed anywhere."""
        raise NotImplementedError

    def begin_leading(self) -> None:
        """Prepare for the first round after this server took the lead."""

    def end_leading(self) -> None:
        """Clean up when this server no longer leads."""

    def wake(self) -> None:
        """Begin the next round now: there may be something to do."""
        self._wake.set()

    def end(self) -> None:
        """Stop, and wait until it has stopped."""
        self._leads.clear()
        self._ended.set()
        self._wake.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Lead whenever no other server does."""
        while not self._ended.is_set():
            try:
                with self._database.engine.connect() as connection:
                    self._lead(connection)
            except OperationalError as error:
                LOG.warning("the database does not answer", extra={"cause": str(error.orig).strip()})
            except Exception:
                # A fault in one round must not end all that follow; the log has it.
                LOG.exception("%s failed", self.name)
            self._ended.wait(self._interval)

    def _lead(self, connection: Connection) -> None:
        """Work for as long as this connection, which holds the lock, lives; return at once where another has it."""
        query = text("SELECT pg_try_advisory_lock(:key)")
        is_leader: bool = connection.execute(query, {"key": self._lock}).scalar_one()
        connection.commit()
        if not is_leader:
            return
        self._leads.set()
        try:
            self.begin_leading()
            while not self._ended.is_set():
                connection.execute(text("SELECT 1"))
                connection.commit()
                begin = time.monotonic()
                self.work()
                busy = time.monotonic() - begin
                # What wakes it meanwhile is found in the next round.
                self._ended.wait(busy * (1 / self.busy_share - 1))
                self._wake.wait(self._interval)
                self._wake.clear()
        finally:
            self._leads.clear()
            self.end_leading()
            # The lock goes with the session of the database, not with this object.
            connection.invalidate()
