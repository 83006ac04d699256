"""The data folder of `bapo up`: its paths, and the lock against a second instance."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

LONGEST_SOCKET_PATH = 100
"""Bytes; the kernel takes 107 on Linux and 103 on macOS."""

_PLAIN = re.compile(r"[\w/.+@ -]+", re.ASCII)
"""Paths that mean the same to every reader: PostgreSQL and libpq end a folder at a comma, and an address at ? and #."""


class StartError(Exception):
    """`bapo up` cannot start; the message is one line that says what to do."""


class DataFolder:
    """Paths within the data folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self.runs = self.path / "runs"
        self.artifacts = self.path / "artifacts"
        self.resources = self.path / "resources"
        self.logs = self.path / "logs"
        self.worker = self.path / "worker"
        self.postgres = self.path / "postgres"
        self.redis = self.path / "redis"
        self.admin_token = self.path / "admin-token"
        self.worker_token = self.path / "worker-token"
        self.processes = self.path / "processes.json"
        self.started_before = self.path / "started-before"
        self._lock_file = self.path / "lock"
        self._lock_descriptor: int | None = None
        self._short_folders: list[Path] = []

    def prepare(self) -> None:
        """Create the folders. Raises StartError where they cannot be written."""
        try:
            for folder in (self.path, self.runs, self.artifacts, self.resources, self.logs, self.worker, self.redis):
                folder.mkdir(parents=True, exist_ok=True)
            # Only the owner may read tokens and training data; root's PostgreSQL runs under another account,
            # which has to pass through.
            self.path.chmod(0o711 if os.geteuid() == 0 else 0o700)
            trial = self.path / ".writable"
            trial.write_bytes(b"")
            trial.unlink()
        except OSError as error:
            raise StartError(
                f"The data folder {self.path} cannot be written ({error.strerror}): "
                "name another with --data, or correct its permissions."
            ) from None

    def lock(self, url: str) -> None:
        """Hold the folder until this process ends. Raises StartError where another instance has it."""
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = json.loads(os.read(descriptor, 4096) or b"{}")
            os.close(descriptor)
            raise StartError(
                f"Another instance (process {holder.get('pid', '?')}, {holder.get('url', 'starting')}) is at work in "
                f"{self.path}: use that one, stop it, or name another folder with --data."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
        self._lock_descriptor = descriptor

    def unlock(self) -> None:
        """Release the folder, and remove the short folders made for sockets."""
        for folder in self._short_folders:
            # A server that outlives us still has its socket there.
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
        if self._lock_descriptor is not None:
            os.close(self._lock_descriptor)
            self._lock_descriptor = None

    def socket_folder(self, preferred: Path, socket_name: str) -> Path:
        """Return the folder for a server's Unix socket: `preferred`, or a short one if its path is long or odd."""
        path = preferred / socket_name
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH and _PLAIN.fullmatch(str(path)):
            return preferred
        digest = hashlib.sha256(os.fsencode(preferred)).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"bapo-{os.geteuid()}-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        self._short_folders.append(folder)
        return folder
