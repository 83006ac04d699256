"""The thread that fetches uploads from the addresses that users give, several at a time."""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from backend.files.uploads import repository, room
from backend.files.uploads.contents import check_file_beginning
from backend.files.uploads.snapshots import archived, listed
from backend.files.uploads.sources import (
    Hub,
    Source,
    SourceError,
    catalogue_model,
    is_repository,
    opened,
    packaged,
    repository_of,
)
from backend.files.uploads.store import StoreError, UploadStore
from backend.kit.database import Database
from backend.kit.errors import Problem
from backend.kit.leadership import LeaderThread
from backend.models import Upload
from backend.outbound.addresses import Resolver, resolve
from backend.settings.environment import Settings
from bapo.deploy.settings import secret_in

LOG = logging.getLogger(__name__)

FETCH_LOCK = 0x6261706F16
"""Advisory lock of the one server that does this."""
INTERVAL_SECONDS = 1.0
LIMITS = repository.FetchLimits(total=32, per_user=2, unreserved=8)
PART_BYTES = 8 * 1024 * 1024
NOTE_SECONDS = 1.0
"""Interval at which progress is stored, in seconds; also stored after each part."""


class _GoneError(Exception):
    """The upload was deleted, another server fetches it, or this one stops."""


class UploadFetcher(LeaderThread):
    """Looks once a second, and at once when it is woken. What a restart cut short begins again."""

    def __init__(
        self, database: Database, settings: Settings, fetched: Callable[[], None], *, resolver: Resolver = resolve
    ) -> None:
        super().__init__("upload fetches", database, FETCH_LOCK, INTERVAL_SECONDS)
        self._settings = settings
        self._store = UploadStore(settings.upload_store)
        self._fetched = fetched
        self._resolver = resolver
        self._busy: dict[str, str] = {}
        self._pool = ThreadPoolExecutor(LIMITS.total, thread_name_prefix="fetch")

    def end(self) -> None:
        """Stop; what is under way begins again after the next start."""
        super().end()
        self._pool.shutdown()

    def work(self) -> None:
        """Begin with what waits."""
        with self._database.session() as session:
            # Others end meanwhile.
            waiting = repository.to_fetch(session, dict(self._busy), LIMITS)
        for upload_id, source, owner_id in waiting:
            self._busy[upload_id] = owner_id
            self._pool.submit(self._fetch, upload_id, source)

    def _fetch(self, upload_id: str, source: str) -> None:
        try:
            self._receive(upload_id, source)
            self._fetched()
        except _GoneError:
            pass
        except (SourceError, StoreError) as error:
            self._fail(upload_id, str(error))
        except Problem as problem:
            self._fail(upload_id, problem.remedy)
        except Exception:
            LOG.exception("an upload could not be fetched", extra={"upload_id": upload_id})
            self._fail(upload_id, "the server could not fetch it: its log has the cause")
        finally:
            self._busy.pop(upload_id, None)
            self.wake()

    def _receive(self, upload_id: str, source: str) -> None:
        with self._database.session() as session, session.begin():
            upload = self._own(session, upload_id, None)
            upload.received_bytes = upload.crc32 = 0
        received, noted_at, part = 0, time.monotonic(), bytearray()
        with self._opened(upload_id, source) as found:
            self._note(upload_id, 0, b"", found.num_bytes)
            for piece in found.parts:
                part += piece
                if len(part) < PART_BYTES and time.monotonic() - noted_at < NOTE_SECONDS:
                    continue
                received = self._note(upload_id, received, bytes(part), found.num_bytes)
                noted_at = time.monotonic()
                part.clear()
            received = self._note(upload_id, received, bytes(part), found.num_bytes)
        if not received:
            raise SourceError("the file is empty")
        with self._database.session() as session, session.begin():
            upload = self._own(session, upload_id, received)
            upload.num_bytes, upload.state = received, "checking"
            repository.touch(session, upload_id)

    def _hub(self) -> Hub:
        file = self._settings.upload_hub_token_file
        try:
            return Hub(self._settings.upload_hub_url, None if file is None else secret_in(file))
        except ValueError as error:
            raise SourceError(f"BAPO_UPLOAD_HUB_TOKEN_FILE: {error}") from None

    def _opened(self, upload_id: str, source: str) -> AbstractContextManager[Source]:
        """Return the open source: one file, or a repository's files as an archive."""
        if (model := catalogue_model(source)) is not None:
            return packaged(model, self._store.folder(upload_id))
        hub, policy = self._hub(), self._settings.upload_policy
        wanted = repository_of(source)
        if wanted is None:
            return opened(source, policy, self._resolver, hub)
        found = listed(wanted, hub, policy, self._resolver)
        most = self._settings.upload_max_bytes
        if found.num_bytes > most:
            raise SourceError(
                f"url = {source!r}: its {len(found.files)} files have {found.num_bytes:,} bytes in sum, and at most "
                f"{most:,} are taken: name fewer, or ask an administrator to raise BAPO_UPLOAD_MAX_BYTES"
            )
        with self._database.session() as session, session.begin():
            upload = self._own(session, upload_id, 0)
            # The version keeps what was fetched, not the name of a branch that moves on.
            upload.source = wanted.at(found.commit)
            if wanted.kind == "dataset":
                upload.file_name = upload.file_name.removesuffix(found.ending) + found.ending
        return archived(wanted, found, hub, policy, self._resolver)

    def _note(self, upload_id: str, offset: int, part: bytes, num_bytes: int | None) -> int:
        """Store a part; how much there is now. Raises Problem where there is no room, or it is not what it says."""
        end = offset + len(part)
        with self._database.session() as session, session.begin():
            upload = self._own(session, upload_id, offset)
            if part and not offset and not is_repository(upload.source):
                check_file_beginning(upload, part)
            wanted = max(end, num_bytes or 0)
            if wanted > upload.num_bytes:
                repository.lock_project(session, upload.project_id)
                room.check_size(wanted, self._settings)
                room.check_quota(session, upload.project_id, wanted - upload.num_bytes, self._settings)
            if part:
                self._store.append(upload_id, offset, part)
            upload.num_bytes, upload.received_bytes = wanted, end
            upload.crc32 = zlib.crc32(part, upload.crc32)
            repository.touch(session, upload_id)
        return end

    def _own(self, session: Session, upload_id: str, received: int | None) -> Upload:
        """Return the upload, if it is still ours to fetch. Raises _GoneError."""
        upload = repository.lock(session, upload_id) if self._leads.is_set() else None
        if upload is None or upload.state != "fetching" or received not in (None, upload.received_bytes):
            raise _GoneError
        return upload

    def _fail(self, upload_id: str, problem: str) -> None:
        with self._database.session() as session, session.begin():
            upload = repository.lock(session, upload_id)
            if upload is None or upload.state != "fetching":
                return
            upload.state, upload.result = "failed", {"problem": problem}
            repository.touch(session, upload_id)
        LOG.info("an upload could not be fetched", extra={"upload_id": upload_id, "cause": problem})
        self._store.remove(upload_id)
