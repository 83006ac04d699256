"""Clocks that jump: the database's, by which everything is decided, or the wall clock of every process."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import psycopg

SOURCE = Path(__file__).with_name("jumping_clock.c")

INJECTED_CLOCK = """
CREATE SCHEMA injected;
CREATE TABLE injected.clock (ahead interval NOT NULL);
INSERT INTO injected.clock VALUES ('0');
CREATE FUNCTION injected.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT pg_catalog.now() + ahead FROM injected.clock';
CREATE FUNCTION injected.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM injected.clock';
ALTER DATABASE bapo SET search_path = public, injected, pg_catalog;
"""
"""Sessions that begin after this find these functions first."""

Connection = psycopg.Connection[Any]


class Clock(Protocol):
    """A clock that jumps."""

    environment: Mapping[str, str]
    """Variables of the processes whose clock it is."""
    begins_with_sessions: bool
    """Whether the database's sessions have to begin again after `install`."""

    def install(self, database: Connection) -> None:
        """Prepare the database for it."""
        ...

    def move(self, database: Connection, seconds: float) -> None:
        """Let it jump."""
        ...


class DatabaseClock:
    """The database's: leases, retries, expiry and retention are decided by it alone."""

    environment: Mapping[str, str] = {}
    begins_with_sessions = True

    def install(self, database: Connection) -> None:
        """Make functions of the database's clock that add an interval."""
        database.execute(INJECTED_CLOCK.encode())

    def move(self, database: Connection, seconds: float) -> None:
        """Change the interval."""
        database.execute("UPDATE injected.clock SET ahead = ahead + make_interval(secs => %s)", [seconds])


class WallClock:
    """That of PostgreSQL, Redis, backend, frontend, workers and trainers, by a library that is preloaded into each.

    libfaketime cannot: with it, Python's `time.sleep` fails as soon as monotonic clocks are left alone.
    """

    begins_with_sessions = False

    def __init__(self, folder: Path) -> None:
        """Compile the library into the folder, which needs a C compiler."""
        library, self._file = folder / "jumping_clock.so", folder / "ahead"
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True)
        self._ahead = 0.0
        self._write()
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "JUMPING_CLOCK": str(self._file)}

    def install(self, _: Connection) -> None:
        """Do nothing: the processes have it from their start."""

    def move(self, _: Connection, seconds: float) -> None:
        """Write the new offset, which every process has mapped."""
        self._ahead += seconds
        self._write()

    def _write(self) -> None:
        # Into the same file, in one write: what is mapped is never half of an offset.
        file = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(file, struct.pack("=q", round(self._ahead)), 0)
        finally:
            os.close(file)
