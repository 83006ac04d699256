"""The thread that checks uploads, a few at a time and one per person, each in a separate process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from typing import Any

from sqlalchemy.exc import OperationalError

from backend.files.uploads import repository, room
from backend.files.uploads.contents import check_file_beginning
from backend.files.uploads.models import ModelJob, unpack_model
from backend.files.uploads.sources import catalogue_model, is_repository
from backend.files.uploads.store import UploadStore
from backend.kit.database import Database
from backend.kit.errors import Problem
from backend.kit.leadership import LeaderThread
from backend.models import Upload
from backend.settings.environment import Settings
from bapo.isolation.function import CallCancelledError
from bapo.own_data.check import OtherData
from bapo.own_data.job import CheckJob, FileReadError, carry_out, read_isolated
from bapo.own_data.report import ColumnMapping
from bapo.own_data.storable import storable

LOG = logging.getLogger(__name__)

CHECK_LOCK = 0x6261706F15
"""Advisory lock of the one server that does this."""
INTERVAL_SECONDS = 1.0
MAX_AT_ONCE = 3
"""One of each person: a file that takes long holds up no other person's."""
BEGINNING_BYTES = 65_536
ASK_SECONDS = 2.0
"""Interval at which a check under way asks whether its upload still exists, in seconds."""


class UploadChecker(LeaderThread):
    """Looks once a second, and at once when it is woken. A check that a restart cut short begins again."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("upload checks", database, CHECK_LOCK, INTERVAL_SECONDS)
        self._settings = settings
        self._store = UploadStore(settings.upload_store)
        self._busy: dict[str, str] = {}
        """Owners by the uploads that are being checked."""
        self._pool = ThreadPoolExecutor(MAX_AT_ONCE, thread_name_prefix="upload-check")

    def end(self) -> None:
        """Stop; what is under way is broken off, and begins again after the next start."""
        super().end()
        self._pool.shutdown()

    def work(self) -> None:
        """Begin with what waits."""
        while self._leads.is_set() and len(self._busy) < MAX_AT_ONCE:
            with self._database.session() as session:
                upload = repository.next_to_check(session, list(self._busy), list(self._busy.values()))
                if upload is None:
                    return
                others = repository.others(session, upload.project_id)
                most_bytes = room.left_for(session, upload, self._settings)
            self._busy[upload.id] = upload.owner_id
            self._pool.submit(self._check, upload, others, most_bytes)

    def _check(self, upload: Upload, others: list[OtherData], most_bytes: int) -> None:
        """Check one upload. Whatever is wrong with it, the others go on."""
        try:
            try:
                result = self._result(upload, others, most_bytes)
            except FileReadError as error:
                result = {"problem": str(error), "num_bytes": 0}
            self._keep(upload, storable(result))
        except CallCancelledError:
            if self._leads.is_set():
                self._remove_if_gone(upload)
        except OperationalError as error:
            # Once the database answers, the check begins again.
            LOG.warning("the database does not answer", extra={"cause": str(error.orig).strip()})
        except Exception:
            LOG.exception("an upload could not be checked", extra={"upload_id": upload.id})
            self._give_up(upload)
        finally:
            del self._busy[upload.id]
            self.wake()

    def _result(self, upload: Upload, others: list[OtherData], most_bytes: int) -> dict[str, Any]:
        """Return the result of the check. Raises FileReadError and CallCancelledError."""
        is_cancelled = self._asks_whether_gone(upload)
        received, out = self._store.received(upload.id), self._store.checked(upload.id)
        # What arrived first may have been too short to tell; an archive of parts is one that this server has made.
        if not is_repository(upload.source):
            with received.open("rb") as file:
                try:
                    check_file_beginning(upload, file.read(BEGINNING_BYTES))
                except Problem as problem:
                    raise FileReadError(problem.remedy) from None
        if upload.kind == "model":
            most_bytes = min(most_bytes, self._settings.upload_max_bytes)
            packed = None if upload.source is None else catalogue_model(upload.source)
            unpacking = ModelJob(path=received, out=out, most_bytes=most_bytes, packed=packed)
            return read_isolated(
                unpack_model, unpacking, file_bytes=most_bytes, maps_files=True, is_cancelled=is_cancelled
            ).model_dump(mode="json")
        for earlier in out.parent.glob(f"{out.name}.*"):
            earlier.unlink()
        job = CheckJob(
            path=received,
            ending=PurePath(upload.file_name).suffix.lower(),
            mapping=None if upload.mapping is None else ColumnMapping.model_validate(upload.mapping),
            others=others,
            out=out,
            most_bytes=most_bytes,
        )
        return read_isolated(carry_out, job, file_bytes=most_bytes, is_cancelled=is_cancelled).model_dump(mode="json")

    def _asks_whether_gone(self, upload: Upload) -> Callable[[], bool]:
        """Return whether the server stops or the check is no longer awaited; the database is asked now and then."""
        asked_at = time.monotonic()
        is_gone = False

        def is_cancelled() -> bool:
            nonlocal asked_at, is_gone
            if not is_gone and time.monotonic() - asked_at >= ASK_SECONDS:
                asked_at = time.monotonic()
                with self._database.session() as session:
                    is_gone = not repository.is_to_be_checked(session, upload.id, upload.mapping)
            return is_gone or not self._leads.is_set()

        return is_cancelled

    def _keep(self, upload: Upload, result: dict[str, Any]) -> None:
        """Write down what was found, if anybody still waits for it."""
        with self._database.session() as session, session.begin():
            current = repository.lock(session, upload.id)
            # Other columns may have been asked for meanwhile: then it waits again.
            is_awaited = current is not None and current.state == "checking" and current.mapping == upload.mapping
            if current is not None and is_awaited:
                repository.lock_project(session, upload.project_id)
                # Other checks may have taken the room since this one began.
                if result["num_bytes"] > room.left_for(session, current, self._settings):
                    result = {"problem": room.NONE_LEFT, "num_bytes": 0}
                # With a preview, other columns may help; without, nothing does.
                is_lost = result["problem"] is not None and not result.get("preview")
                current.result = result
                current.state = "failed" if is_lost else "checked"
                repository.touch(session, upload.id)
        if current is None:
            self._remove_if_gone(upload)
        elif is_awaited and is_lost:
            LOG.info("an upload failed", extra={"upload_id": upload.id, "cause": result["problem"]})
            self._store.remove(upload.id)
        elif is_awaited and upload.kind == "model":
            # Its files are there twice now, and a model is not checked again.
            self._store.received(upload.id).unlink(missing_ok=True)

    def _remove_if_gone(self, upload: Upload) -> None:
        """Remove what a check wrote while its upload was being deleted."""
        with self._database.session() as session:
            is_there = bool(repository.known(session, [upload.id]))
        if not is_there:
            self._store.remove(upload.id)

    def _give_up(self, upload: Upload) -> None:
        problem = "the server could not check it: its log has the cause"
        try:
            self._keep(upload, {"problem": problem, "num_bytes": 0})
        except Exception:
            LOG.exception("an upload could not be given up", extra={"upload_id": upload.id})
