"""The dump of the database: all of it but what logs people in."""

from __future__ import annotations

import subprocess
from pathlib import Path

from backend.models import Base
from bapo.deploy.backup.database import dump
from bapo.deploy.up.postgres import binaries


def test_a_dump_holds_the_rows_of_every_table_but_those_of_logins(postgres_url: str, tmp_path: Path) -> None:
    file = tmp_path / "database.dump"
    dump(postgres_url, file)
    listed = subprocess.run([binaries() / "pg_restore", "--list", file], capture_output=True, text=True, check=True)
    # A line such as `4021; 0 16512 TABLE DATA public runs postgres`.
    rows = [line.split() for line in listed.stdout.splitlines() if " TABLE DATA " in line]
    kept = {words[-2] for words in rows} - {"alembic_version"}
    assert set(Base.metadata.tables) - kept == {"sessions", "login_codes", "pending_sign_ins"}
