"""Stores the downloads' files in one folder, each under its download's ID."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_ID = re.compile(r"[a-z0-9]{10}")
_PARTIAL = ".part"


class StoreError(OSError):
    """The folder cannot be written; says why."""


class ArtifactStore:
    """Files by identifier; a file that is not complete has another name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, artifact_id: str) -> Path:
        """Return the path of a complete file."""
        assert _ID.fullmatch(artifact_id), "identifiers come from the database"
        return self._folder / artifact_id

    def partial(self, artifact_id: str) -> Path:
        """Return the path of an incomplete file, in an existing folder."""
        path = self.path(artifact_id)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the downloads folder cannot be created: {error.strerror}") from None
        return path.with_name(path.name + _PARTIAL)

    def append(self, artifact_id: str, offset: int, content: bytes) -> int:
        """Append a piece if it begins where the file ends; return the file's size. The caller must be the only writer.

        Raises StoreError where the disk refuses; the file is as it was then.
        """
        path = self.partial(artifact_id)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(f"a download cannot be stored: {error.strerror}") from None
        with os.fdopen(descriptor, "wb") as file:
            size = os.fstat(descriptor).st_size
            if offset != size:
                return size
            try:
                file.seek(size)
                file.write(content)
                file.flush()
            except OSError as error:
                os.ftruncate(descriptor, size)
                raise StoreError(f"a download cannot be stored: {error.strerror}") from None
            return size + len(content)

    def complete(self, artifact_id: str, num_bytes: int, sha256: str) -> bool:
        """Give a file its name, if size and checksum are these; else it goes."""
        partial, final = self.partial(artifact_id), self.path(artifact_id)
        if final.exists() and not partial.exists():
            # A repeated request: the answer was lost.
            partial = final
        if not partial.exists() or partial.stat().st_size != num_bytes or digest(partial) != sha256:
            partial.unlink(missing_ok=True)
            return False
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.rename(final)
        return True

    def remove(self, artifact_id: str) -> None:
        """Delete a file, complete or not."""
        path = self.path(artifact_id)
        path.unlink(missing_ok=True)
        path.with_name(path.name + _PARTIAL).unlink(missing_ok=True)

    def identifiers(self) -> Iterator[str]:
        """Yield the IDs of all files, complete or not."""
        if not self._folder.is_dir():
            return
        for path in self._folder.iterdir():
            name = path.name.removesuffix(_PARTIAL)
            if _ID.fullmatch(name):
                yield name


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
