"""The backup file: a tar whose last member, `manifest.json`, names every other one with its size and SHA-256.

It is written while runs train: a file that grows is taken up to the length it has when its turn comes, one that
disappears is left out. The database is dumped first, so that the folders hold at least what the database knows; of a
run, the journals are copied after the checkpoints, so that no checkpoint is beyond the journal next to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bapo import __version__
from bapo.config.error_messages import error_said
from bapo.run.checkpoint import CHECKPOINTS_FOLDER
from bapo.run.run_folder import LOCK_FILE, UPLOADS_FOLDER

SCHEMA = 1
MANIFEST = "manifest.json"
DATABASE = "database.dump"
SECRETS = "secrets"
RUNS = "runs"
RESOURCES = "resources"
_UNFINISHED = ".bapo-backup-"
_CHUNK = 1 << 20
_ROUNDS = 5
"""Number of searches for new checkpoints, which may replace those being copied."""


class BackupError(Exception):
    """The backup cannot be made or used; the message says why and what to do."""


class Member(BaseModel):
    """A file of the backup."""

    model_config = ConfigDict(frozen=True)

    name: str
    size: int
    sha256: str


class Manifest(BaseModel):
    """The contents of a backup."""

    model_config = ConfigDict(frozen=True)

    backup_schema: int = SCHEMA
    version: str = __version__
    created_at: datetime
    revision: str
    """Revision of the database's schema."""
    num_runs: int
    members: list[Member]


class BackupWriter:
    """Writes a backup file; nothing has its name before it is whole.

    Until then it grows in a separate folder next to it, with room for what else is needed: `place`. The leftovers of a
    killed backup are deleted by the next one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._members: dict[str, Member] = {}
        self._tar: tarfile.TarFile | None = None

    def __enter__(self) -> BackupWriter:
        if self._path.exists():
            raise BackupError(f"{self._path} exists: name another file, or move it away")
        _remove_leftovers(self._path.parent)
        # It holds tokens and training data: for its owner only.
        self.place = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._path.parent))
        self._lock = _locked(self.place)
        self._temporary = self.place / self._path.name
        self._file = os.fdopen(os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._tar = tarfile.open(fileobj=self._file, mode="w")
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        assert self._tar is not None
        if failure is None:
            self._tar.close()
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        if failure is None:
            self._temporary.replace(self._path)
        shutil.rmtree(self.place, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def add(self, name: str, source: Path) -> None:
        """Add a file as long as it is now; nothing where it has gone."""
        try:
            handle = source.open("rb")
        except FileNotFoundError:
            return
        with handle:
            self._add(name, handle, os.fstat(handle.fileno()).st_size)

    def _add(self, name: str, source: IO[bytes], size: int) -> None:
        assert self._tar is not None
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, 0o600
        hashing = _Hashing(source)
        self._tar.addfile(info, hashing)
        self._members[name] = Member(name=name, size=size, sha256=hashing.digest.hexdigest())

    def add_runs(self, runs_dir: Path) -> int:
        """Add the folders of all runs, and the uploads next to them. Returns the number of runs."""
        folders = sorted(path for path in runs_dir.iterdir() if path.is_dir()) if runs_dir.exists() else []
        for folder in folders:
            name = f"{RUNS}/{folder.name}"
            for _ in range(_ROUNDS):
                # A checkpoint that came meanwhile has replaced one that may be copied in part.
                if not self.add_folder(f"{name}/{CHECKPOINTS_FOLDER}", folder / CHECKPOINTS_FOLDER):
                    break
            self.add_folder(name, folder, leave_out=CHECKPOINTS_FOLDER)
        return sum(folder.name != UPLOADS_FOLDER for folder in folders)

    def add_folder(self, name: str, folder: Path, leave_out: str | None = None) -> bool:
        """Add the files of a folder that are not in the backup yet; return whether there were any."""
        found = False
        for path in _files(folder):
            inside = path.relative_to(folder)
            member = f"{name}/{inside.as_posix()}"
            if inside.parts[0] != leave_out and member not in self._members:
                self.add(member, path)
                found = True
        return found

    def finish(self, revision: str, num_runs: int) -> Manifest:
        """Add the manifest."""
        manifest = Manifest(
            created_at=datetime.now(UTC), revision=revision, num_runs=num_runs, members=list(self._members.values())
        )
        content = manifest.model_dump_json(indent=1).encode()
        self._add(MANIFEST, io.BytesIO(content), len(content))
        return manifest


def _locked(place: Path) -> int | None:
    """Return a lock on the folder, which goes with the process, however it ends; None where another has it."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(folder: Path) -> None:
    for place in folder.glob(f"{_UNFINISHED}*/"):
        # Another backup may just come to its end.
        with suppress(FileNotFoundError):
            lock = _locked(place)
            if lock is not None:
                shutil.rmtree(place, ignore_errors=True)
                os.close(lock)


class _Hashing:
    """Reads on, and hashes what was read."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        content = self._source.read(size)
        self.digest.update(content)
        return content


def _files(folder: Path) -> Iterator[Path]:
    """Yield every file, links and unfinished ones left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith(".tmp-"))
        for name in sorted(names):
            path = Path(place) / name
            if name != LOCK_FILE and not (name.startswith(".") and name.endswith(".tmp")) and not path.is_symlink():
                yield path


def read_manifest(path: Path) -> Manifest:
    """Check a backup from end to end and return what it holds. Raises BackupError."""
    seen: dict[str, Member] = {}
    content: bytes | None = None
    try:
        with tarfile.open(path, "r:") as tar:
            for info in tar:
                _check_name(info)
                source = tar.extractfile(info)
                assert source is not None, "a regular file"
                if info.name == MANIFEST:
                    content = source.read()
                    continue
                digest = hashlib.sha256()
                while chunk := source.read(_CHUNK):
                    digest.update(chunk)
                seen[info.name] = Member(name=info.name, size=info.size, sha256=digest.hexdigest())
    except (OSError, tarfile.TarError) as error:
        raise BackupError(f"{path} cannot be read as a backup ({error}): use another") from None
    if content is None:
        raise BackupError(f"{path} has no manifest: it was cut off while it was written or copied; use another")
    manifest = _parse(path, content)
    named = {member.name: member for member in manifest.members}
    damaged = sorted(name for name in named.keys() | seen.keys() if named.get(name) != seen.get(name))
    if damaged:
        raise BackupError(f"{path} is damaged: {damaged[0]} and {len(damaged) - 1} others differ from the manifest")
    return manifest


def _parse(path: Path, content: bytes) -> Manifest:
    try:
        loose: dict[str, Any] = json.loads(content)
        if loose.get("backup_schema", 0) > SCHEMA:
            raise BackupError(
                f"{path} was written by version {loose.get('version')}: restore it with that or a later one"
            )
        return Manifest.model_validate(loose)
    except (json.JSONDecodeError, ValidationError) as error:
        cause = error_said(error) if isinstance(error, ValidationError) else error
        raise BackupError(f"{path} has a manifest that cannot be read ({cause}): use another") from None


def _check_name(info: tarfile.TarInfo) -> None:
    """Check that a member is a plain file under a known name, never a path that leads out. Raises BackupError."""
    path = PurePosixPath(info.name)
    ours = path.parts and path.parts[0] in (MANIFEST, DATABASE, SECRETS, RUNS, RESOURCES)
    if not info.isreg() or path.is_absolute() or ".." in path.parts or not ours:
        raise BackupError(f"the backup holds {info.name!r}, which is not part of a backup: do not use it")


def extract(path: Path, prefix: str, target: Path) -> None:
    """Write the files beneath a prefix into a folder. The backup has been checked."""
    with tarfile.open(path, "r:") as tar:
        for info in tar:
            _check_name(info)
            parts = PurePosixPath(info.name).parts
            if parts[0] != prefix:
                continue
            place = target.joinpath(*parts[1:]) if len(parts) > 1 else target
            place.parent.mkdir(parents=True, exist_ok=True)
            source = tar.extractfile(info)
            assert source is not None, "a regular file"
            mode = 0o600 if prefix in (SECRETS, DATABASE) else 0o644
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as handle:
                while chunk := source.read(_CHUNK):
                    handle.write(chunk)


def extract_secret(path: Path, target: Path) -> None:
    """Write the secret of this name over the one there, for its owner only. The backup has been checked."""
    with tarfile.open(path, "r:") as tar:
        try:
            source = tar.extractfile(f"{SECRETS}/{target.name}")
        except KeyError:
            return
        assert source is not None, "a regular file"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(source.read())
