"""The data folder: permissions, lock, socket paths."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bapo.deploy.up.folder import LONGEST_SOCKET_PATH, DataFolder, StartError


def test_others_cannot_list_the_folder(folder: DataFolder) -> None:
    assert not stat.S_IMODE(folder.path.stat().st_mode) & (stat.S_IROTH | stat.S_IRGRP | stat.S_IWOTH)


def test_a_file_in_the_way_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StartError, match=r"data folder .* cannot be written \(.*\): name another with --data"):
        DataFolder(tmp_path / "data").prepare()


def test_an_unwritable_folder_is_one_clear_line() -> None:
    # /proc takes no folders, not even root's.
    with pytest.raises(StartError, match="cannot be written"):
        DataFolder(Path("/proc/bapo-data")).prepare()


def test_a_second_instance_is_told_about_the_first(folder: DataFolder) -> None:
    folder.lock("http://127.0.0.1:8000")
    with pytest.raises(StartError, match=rf"process {os.getpid()}, http://127.0.0.1:8000\) is at work in"):
        DataFolder(folder.path).lock("http://127.0.0.1:9000")


def test_the_lock_goes_with_a_killed_process(folder: DataFolder) -> None:
    code = (
        "import os, pathlib, signal, sys; from bapo.deploy.up.folder import DataFolder;"
        "DataFolder(pathlib.Path(sys.argv[1])).lock('first'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(folder.path)], check=False)
    assert killed.returncode == -9
    folder.lock("second")


def test_a_socket_path_at_the_limit_stays_and_one_above_moves(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    room = LONGEST_SOCKET_PATH - len(os.fsencode(tmp_path)) - len("//sock")
    at_limit, above = tmp_path / ("a" * room), tmp_path / ("a" * (room + 1))
    assert len(os.fsencode(at_limit / "sock")) == LONGEST_SOCKET_PATH
    assert folder.socket_folder(at_limit, "sock") == at_limit
    moved = folder.socket_folder(above, "sock")
    assert moved != above
    assert stat.S_IMODE(moved.stat().st_mode) == 0o700
    assert folder.socket_folder(above, "sock") == moved
    folder.unlock()
    assert not moved.exists()
