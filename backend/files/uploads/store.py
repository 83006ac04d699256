"""Folder of uploads: files on their way under their identifiers, registered content by project and SHA-256."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

_ID = re.compile(r"[a-z0-9]{10}")
INCOMING = "incoming"
CHECKED = "checked"
"""Name, without its ending, of what a check wrote into an upload's folder."""
RECEIVED = "received"


class StoreError(OSError):
    """The disk refuses; says why."""


class UploadStore:
    """Files beneath one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, upload_id: str) -> Path:
        """Return the folder of an upload that is not registered yet."""
        assert _ID.fullmatch(upload_id), "identifiers come from the database"
        return self._folder / INCOMING / upload_id

    def received(self, upload_id: str) -> Path:
        """Return the file with the received part of an upload."""
        return self.folder(upload_id) / RECEIVED

    def checked(self, upload_id: str) -> Path:
        """Return where a check writes its file or folder, without an ending."""
        return self.folder(upload_id) / CHECKED

    def append(self, upload_id: str, offset: int, content: bytes) -> None:
        """Write a part. What lies behind `offset` is of a part that was never confirmed, and goes.

        Raises StoreError where the disk refuses; the file is as long as `offset` then.
        """
        path = self.received(upload_id)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(f"the upload cannot be stored: {error.strerror}") from None
        with os.fdopen(descriptor, "wb") as file:
            if os.fstat(descriptor).st_size < offset:
                raise StoreError("what was received before is gone: start the upload again")
            try:
                os.ftruncate(descriptor, offset)
                file.seek(offset)
                file.write(content)
                file.flush()
            except OSError as error:
                os.ftruncate(descriptor, offset)
                raise StoreError(f"the upload cannot be stored: {error.strerror}") from None

    def content(self, project_id: str, sha256: str, name: str) -> Path:
        """Return where content is registered; configs name this path, so that a run names its version."""
        return self._folder / "projects" / project_id / sha256 / name

    def keep(self, source: Path, target: Path) -> None:
        """Move checked content to its target, which never holds a part of it. Raises StoreError."""
        if target.exists():
            return
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Workers may run under another account.
            for path in (source, *source.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            if source.is_file():
                with source.open("rb") as file:
                    os.fsync(file.fileno())
            source.rename(target)
        except OSError as error:
            raise StoreError(f"the content cannot be stored: {error.strerror}") from None

    def remove_content(self, path: Path) -> None:
        """Delete registered content."""
        shutil.rmtree(path.parent, ignore_errors=True)

    def remove(self, upload_id: str) -> None:
        """Delete an upload, with all that a check made of it."""
        shutil.rmtree(self.folder(upload_id), ignore_errors=True)

    def identifiers(self) -> Iterator[str]:
        """Yield the IDs of the stored uploads."""
        incoming = self._folder / INCOMING
        for path in incoming.iterdir() if incoming.is_dir() else ():
            if _ID.fullmatch(path.name):
                yield path.name
