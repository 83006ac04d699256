"""Keeps house: makes artifacts, deletes what has had its time, has folders measured. One server at a time does this."""

from __future__ import annotations

import logging
import threading
import time

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from backend.artifacts.making import ArtifactMaker
from backend.kit.database import Database
from backend.kit.settings import Settings
from backend.storage import repository, retention

LOG = logging.getLogger(__name__)

KEEPER_LOCK = 0x6261706F04
"""Advisory lock of the one keeper."""
INTERVAL_SECONDS = 1.0
ROUND_SECONDS = 15.0
"""Between two looks at what takes up space."""


class Keeper(threading.Thread):
    """Looks once a second for artifacts to make, and now and then for everything else."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__(name="keeper", daemon=True)
        self._database = database
        self._maker = ArtifactMaker(database, settings)
        self._settings = settings
        self._ended = threading.Event()
        self._next_round = 0.0

    def end(self) -> None:
        """Stop, and wait until it has stopped."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Be the keeper whenever no other server is."""
        while not self._ended.is_set():
            try:
                with self._database.engine.connect() as connection:
                    self._serve_as_keeper(connection)
            except OperationalError as error:
                LOG.warning("the database does not answer", extra={"cause": str(error.orig).strip()})
            except Exception:
                # A fault in one round must not end all housekeeping; the log has it.
                LOG.exception("housekeeping failed")
            self._ended.wait(INTERVAL_SECONDS)

    def _serve_as_keeper(self, connection: Connection) -> None:
        """Work for as long as this connection, which holds the lock, lives; return at once where another has it."""
        query = text("SELECT pg_try_advisory_lock(:key)")
        is_keeper: bool = connection.execute(query, {"key": KEEPER_LOCK}).scalar_one()
        connection.commit()
        if not is_keeper:
            return
        try:
            self._maker.clean_up()
            while not self._ended.is_set():
                connection.execute(text("SELECT 1"))
                connection.commit()
                self.work()
                self._ended.wait(INTERVAL_SECONDS)
        finally:
            # The lock goes with the session of the database, not with this object.
            connection.invalidate()

    def work(self) -> None:
        """One round."""
        while not self._ended.is_set() and self._maker.make_next():
            pass
        if time.monotonic() >= self._next_round:
            self.keep_house()
            self._next_round = time.monotonic() + ROUND_SECONDS

    def keep_house(self) -> None:
        """What has time."""
        self._maker.expire()
        self._maker.sweep()
        retention.carry_out(self._database, self._settings)
        with self._database.session() as session, session.begin():
            repository.mark_folders_due(session)
        with self._database.session() as session, session.begin():
            repository.measure_records(session)
