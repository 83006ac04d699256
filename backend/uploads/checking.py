"""The thread that checks uploads, one at a time, each in a process of its own."""

from __future__ import annotations

import logging
from pathlib import PurePath
from typing import Any

from backend.kit.database import Database
from backend.kit.leadership import LeaderThread
from backend.kit.settings import Settings
from backend.models import Upload
from backend.uploads import repository
from backend.uploads.models import unpack_model
from backend.uploads.store import UploadStore
from bapo.own_data.checking import OtherData
from bapo.own_data.isolated import check_apart
from bapo.own_data.job import CheckJob
from bapo.own_data.report import ColumnMapping

LOG = logging.getLogger(__name__)

CHECK_LOCK = 0x6261706F15
"""Advisory lock of the one server that does this."""
INTERVAL_SECONDS = 1.0
END_SECONDS = 5.0
"""For a check to be broken off."""


class UploadChecker(LeaderThread):
    """Looks once a second, and at once when it is woken. A check that a restart cut short begins again."""

    # Somebody waits for it, and the work is another process's.
    busy_share = 1.0

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("upload checks", database, CHECK_LOCK, INTERVAL_SECONDS)
        self._settings = settings
        self._store = UploadStore(settings.upload_store)

    def end(self) -> None:
        """Stop; a check is broken off, and a model that is being unpacked is left to the next start."""
        self._ended.set()
        self._wake.set()
        if self.is_alive():
            self.join(END_SECONDS)

    def work(self) -> None:
        """Check what waits."""
        while not self._ended.is_set() and self.check_next():
            pass

    def check_next(self) -> bool:
        """Check the upload that has waited longest; whether there was one."""
        with self._database.session() as session:
            upload = repository.next_to_check(session)
            if upload is None:
                return False
            others = repository.others(session, upload.project_id)
        result = self._result(upload, others)
        if result is None:
            # The server stops: the next one begins it again.
            return False
        with self._database.session() as session, session.begin():
            current = repository.lock(session, upload.id)
            # Other columns may have been asked for meanwhile: then it waits again.
            if current is None or current.state != "checking" or current.mapping != upload.mapping:
                return True
            current.result = result
            # With a preview, other columns may help; without, nothing does.
            is_lost = result["problem"] is not None and not result.get("preview")
            current.state = "failed" if is_lost else "checked"
            repository.touch(session, upload.id)
        if is_lost:
            LOG.info("an upload failed", extra={"upload_id": upload.id, "cause": result["problem"]})
            self._store.remove(upload.id)
        return True

    def _result(self, upload: Upload, others: list[OtherData]) -> dict[str, Any] | None:
        if upload.kind == "model":
            received, out = self._store.received(upload.id), self._store.checked(upload.id)
            return unpack_model(received, out, self._settings.upload_max_bytes).model_dump(mode="json")
        result = check_apart(self._job(upload, others), is_cancelled=self._ended.is_set)
        return None if result is None else result.model_dump(mode="json")

    def _job(self, upload: Upload, others: list[OtherData]) -> CheckJob:
        return CheckJob(
            path=self._store.received(upload.id),
            ending=PurePath(upload.file_name).suffix.lower(),
            mapping=None if upload.mapping is None else ColumnMapping.model_validate(upload.mapping),
            others=others,
            out=self._store.checked(upload.id),
        )
