"""Shared memory that nobody has mapped goes, other files stay."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from bapo.verl_plugin.leftovers import end_processes, remove_shared_memory


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
