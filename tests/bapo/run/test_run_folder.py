from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from bapo.config import ConfigError, RunConfig, resolve
from bapo.run.run_folder import CONFIG_FILE, claim_config, exclusive, next_attempt, read_config, write_atomically


def config(*, steps: int = 3, c1: str = "1/8") -> RunConfig:
    return resolve({"method": {"c1": c1}, "training": {"steps": steps}}).config


def test_a_new_folder_takes_the_config_and_keeps_it(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a"
    claim_config(folder, config(c1="1/3"))
    assert read_config(folder) == config(c1="1/3")
    claim_config(folder, config(c1="2/6"))


def test_a_run_that_never_took_a_step_takes_another_config(tmp_path: Path) -> None:
    claim_config(tmp_path, config())
    claim_config(tmp_path, config(steps=4))
    assert read_config(tmp_path) == config(steps=4)


def test_a_folder_without_a_config_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"it holds no config\.json"):
        read_config(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe"])
def test_a_config_that_is_no_json_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CONFIG_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match="not readable as JSON"):
        read_config(tmp_path)


@pytest.mark.parametrize("content", [b"[]", b"5", b'{"method": {"cl": 1}}'])
def test_a_config_with_mistakes_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CONFIG_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=r"must hold fields|did you mean"):
        read_config(tmp_path)


def test_attempts_count_from_one(tmp_path: Path) -> None:
    assert next_attempt(tmp_path) == 1
    for name in ("attempt-1", "attempt-9", "attempt-10"):
        (tmp_path / name).mkdir()
    assert next_attempt(tmp_path) == 11


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_atomically(path, b"old")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_atomically(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(path, b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"old"


def hold(folder: Path, ready: Connection) -> None:
    with exclusive(folder):
        ready.send("held")
        signal.pause()


def test_a_folder_has_one_trainer_at_a_time_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    other = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path, theirs))
    other.start()
    try:
        assert ours.recv() == "held"
        with pytest.raises(ConfigError, match="another trainer is using it"), exclusive(tmp_path):
            pass
    finally:
        assert other.pid is not None
        os.kill(other.pid, signal.SIGKILL)
        other.join()
    with exclusive(tmp_path):
        pass
