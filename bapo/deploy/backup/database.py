"""PostgreSQL's own dump and restore, from the wheel or from the path."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg

from bapo.deploy.backup.archive import BackupError
from bapo.deploy.up.folder import StartError
from bapo.deploy.up.postgres import binaries


def _program(name: str) -> str:
    """Return the newest program: PostgreSQL's tools read servers of their own version and older ones."""
    try:
        return str(binaries() / name)
    except StartError:
        found = shutil.which(name)
        if found is None:
            raise BackupError(f"{name} is not installed: install the clients of PostgreSQL 18") from None
        return found


def _run(name: str, url: str, *options: str) -> str:
    parts = urlsplit(url.replace("postgresql+psycopg://", "postgresql://", 1))
    address, environment = urlunsplit(parts), dict(os.environ)
    if parts.password is not None:
        # Not among the arguments, which other users of the machine can read.
        user_and_host = parts.netloc.replace(f":{parts.password}@", "@", 1)
        address = urlunsplit(parts._replace(netloc=user_and_host))
        environment["PGPASSWORD"] = unquote(parts.password)
    result = subprocess.run(
        [_program(name), *options, "--dbname", address],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise BackupError(f"{name} failed: {lines[0]}")
    return result.stdout


def _connect(url: str) -> psycopg.Connection:
    return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://", 1), autocommit=True)


def revision(url: str) -> str | None:
    """Return the revision of the schema; None for a database without one. Raises BackupError if it does not answer."""
    try:
        with _connect(url) as connection:
            known = connection.execute("SELECT to_regclass('alembic_version')").fetchone()
            if known is None or known[0] is None:
                return None
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return None if row is None else str(row[0])
    except psycopg.OperationalError as error:
        raise BackupError(f"the database does not answer: {str(error).strip()}") from None


def dump(url: str, file: Path) -> None:
    """Write a consistent dump, while others write."""
    # Logins are not kept: the holder of a backup must not be logged in.
    left_out = [f"--exclude-table-data={table}" for table in ("sessions", "login_codes", "pending_sign_ins")]
    _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", *left_out, "--file", str(file))


def check_empty(url: str) -> None:
    """Raise BackupError where the database holds anything."""
    if revision(url) is not None:
        raise BackupError("the database is not empty: restore into an empty one")


def restore(url: str, file: Path) -> None:
    """Fill an empty database, whole or not at all; runs are no longer bound to the machine they ran on."""
    _run("pg_restore", url, "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", str(file))
    with _connect(url) as connection:
        # Their folders are here now.
        connection.execute("UPDATE runs SET host = NULL")
