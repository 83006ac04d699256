"""Regular maintenance: makes downloads, deletes what has expired, has folders and records measured."""

from __future__ import annotations

import time

from backend.files.artifacts.maker import ArtifactMaker
from backend.files.storage import repository, retention
from backend.files.uploads import service as uploads
from backend.kit.database import Database
from backend.kit.leadership import LeaderThread
from backend.settings.environment import Settings

MAINTENANCE_LOCK = 0x6261706F04
"""Advisory lock of the one server that does this."""
INTERVAL_SECONDS = 1.0
ROUND_SECONDS = 15.0
"""Between two looks at what takes up space."""


class MaintenanceThread(LeaderThread):
    """Looks once a second for artifacts to make, and now and then for everything else."""

    # A user waits for the artifact.
    busy_share = 1.0

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("maintenance", database, MAINTENANCE_LOCK, INTERVAL_SECONDS)
        self._maker = ArtifactMaker(database, settings)
        self._settings = settings
        self._next_round = 0.0

    def begin_leading(self) -> None:
        """Take up what another server left half-made."""
        self._maker.clean_up()

    def work(self) -> None:
        """Run one round."""
        while not self._ended.is_set() and self._maker.make_next():
            pass
        if time.monotonic() >= self._next_round:
            self.run_maintenance()
            self._next_round = time.monotonic() + ROUND_SECONDS

    def run_maintenance(self) -> None:
        """Expire downloads and uploads, apply the retention rules, measure."""
        self._maker.expire()
        self._maker.sweep()
        uploads.expire(self._database, self._settings)
        retention.carry_out(self._database, self._settings)
        with self._database.session() as session, session.begin():
            repository.mark_folders_due(session)
        with self._database.session() as session, session.begin():
            repository.measure_records(session)
