"""Shared memory that nobody has mapped goes, other files stay."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from bapo.engines.verl import leftovers
from bapo.engines.verl.leftovers import clean_up_after, end_processes, remove_shared_memory, temporary_prefix


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(b"0" * mmap.PAGESIZE)
    return path


def test_files_of_the_run_are_removed_and_named(tmp_path: Path) -> None:
    _file(tmp_path, "psm_1")
    _file(tmp_path, "sem.mp-1")
    _file(tmp_path, "verl_weights_1")
    other = _file(tmp_path, "PostgreSQL.1")
    assert sorted(remove_shared_memory(0, tmp_path)) == ["psm_1", "sem.mp-1", "verl_weights_1"]
    assert list(tmp_path.iterdir()) == [other]


def test_older_files_stay(tmp_path: Path) -> None:
    _file(tmp_path, "psm_1")
    assert remove_shared_memory(time.time() + 60, tmp_path) == []


def test_a_file_that_a_process_has_mapped_stays(tmp_path: Path) -> None:
    path = _file(tmp_path, "psm_1")
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0):
        assert remove_shared_memory(0, tmp_path) == []
    assert remove_shared_memory(0, tmp_path) == ["psm_1"]


def test_a_process_that_does_not_end_by_itself_is_killed() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=os.environ)
    end_processes([psutil.Process(process.pid)], patience_seconds=1)
    assert not psutil.pid_exists(process.pid)
    process.wait()


def test_processes_and_folders_of_a_trainer_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / f"{temporary_prefix(2**22)}a").mkdir()
    (tmp_path / f"{temporary_prefix(2**22 + 1)}a").mkdir()
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    own, other = (
        subprocess.Popen(sleep, env=os.environ | {leftovers.TRAINER_VARIABLE: str(pid)}) for pid in (2**22, 2**22 + 1)
    )
    try:
        clean_up_after(2**22, time.time())
        assert not psutil.pid_exists(own.pid)
        assert other.poll() is None
        assert [path.name for path in tmp_path.iterdir()] == [f"{temporary_prefix(2**22 + 1)}a"]
    finally:
        other.kill()
        other.wait()
        own.wait()
