"""Children that die are started again, and stopping ends them and nothing else."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bapo.deploy.up import supervision
from bapo.deploy.up.child import ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError
from bapo.deploy.up.leftovers import end_leftovers, record_processes
from bapo.deploy.up.supervision import Supervisor
from tests.support.disks import fill, small_disk
from tests.support.waiting import wait_until

Shell = Callable[..., ChildSpec]


def test_a_dead_child_is_started_again(supervisor: Supervisor, shell: Shell, said: list[str]) -> None:
    first = supervisor.start(shell("exec sleep 60"))
    os.kill(first.pid, 9)
    pids: set[int] = set()

    def is_back() -> bool:
        supervisor.restart_dead()
        pids.update(child.pid for child in supervisor.children)
        return bool(pids - {first.pid})

    wait_until(is_back)
    assert said[0].startswith("child ended (code -9): starting it again in 0.5 s")


def test_the_pause_doubles_while_a_child_keeps_dying(
    supervisor: Supervisor, shell: Shell, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(supervision, "LONGEST_PAUSE_SECONDS", 0.04)
    supervisor.start(shell("exit 7"))

    def has_died_often() -> bool:
        supervisor.restart_dead()
        return len(said) >= 5

    wait_until(has_died_often)
    # 0.01, 0.02, 0.04 and no longer than that.
    assert [line.split(" in ")[1].split(" s")[0] for line in said[:5]] == ["0.01", "0.02", "0.04", "0.04", "0.04"]


def test_a_full_disk_ends_nothing_and_is_made_up_for(place: Path, shell: Shell, said: list[str]) -> None:
    with small_disk(place / "disk", "256k") as disk:
        folder = DataFolder(disk)
        folder.prepare()
        supervisor = Supervisor(folder, said.append, threading.Event())
        first, second = (supervisor.start(shell("exec sleep 60", name)) for name in ("first", "second"))
        filler = fill(disk)
        os.kill(first.pid, 9)

        def is_back() -> bool:
            supervisor.restart_dead()
            return {child.spec.name for child in supervisor.children} == {"first", "second"}

        wait_until(lambda: is_back() and first not in supervisor.children)
        for _ in range(5):
            supervisor.restart_dead()
        # Said once, however often it is tried.
        assert [line for line in said if "cannot be written" in line] == [
            f"{folder.processes} cannot be written (No space left on device): free some space; "
            "the services keep running"
        ]
        assert second.exit_code() is None
        filler.unlink()
        supervisor.restart_dead()
        assert said[-1] == f"{folder.processes} is written again"
        recorded = {entry["pid"] for entry in json.loads(folder.processes.read_bytes())}
        assert recorded == {child.pid for child in supervisor.children}
        supervisor.stop_all()


def test_a_child_that_cannot_be_started_is_tried_again(supervisor: Supervisor, shell: Shell, said: list[str]) -> None:
    child = supervisor.start(shell("exec sleep 60"))
    # Its log cannot be opened, as on a disk that takes no new file.
    child.log.unlink()
    child.log.mkdir()
    os.kill(child.pid, 9)

    def is_put_off() -> bool:
        supervisor.restart_dead()
        return len(said) == 2

    wait_until(is_put_off)
    assert said[1] == "child could not be started (Is a directory): starting it again in 1 s"
    child.log.rmdir()

    def is_back() -> bool:
        supervisor.restart_dead()
        return bool(supervisor.children)

    wait_until(is_back)


def test_a_child_that_never_gets_ready_shows_its_log(supervisor: Supervisor, shell: Shell) -> None:
    child = supervisor.start(shell("echo no luck today; exit 3"))
    with pytest.raises(StartError, match=r"child ended with code 3; .*child.log says:\nno luck today"):
        supervisor.wait_until(child, lambda: False)


def test_a_child_that_is_slow_is_waited_for_and_mentioned(
    supervisor: Supervisor, shell: Shell, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "WORD_SECONDS", 0.01)
    child = supervisor.start(shell("echo reading; exec sleep 60"))
    supervisor.wait_until(child, lambda: len(said) >= 3 and said[-1].endswith("says:\nreading"))
    assert all(line.startswith("child runs and is not ready yet; ") for line in said)


def test_while_one_is_waited_for_the_others_are_started_again(supervisor: Supervisor, shell: Shell) -> None:
    first = supervisor.start(shell("exec sleep 60", "database"))
    waited_for = supervisor.start(shell("exec sleep 60", "backend"))
    os.kill(first.pid, 9)
    supervisor.wait_until(
        waited_for,
        lambda: any(each.spec.name == "database" and each.pid != first.pid for each in supervisor.children),
    )


def test_stopping_ends_the_whole_group_of_a_deaf_child(supervisor: Supervisor, shell: Shell) -> None:
    child = supervisor.start(shell("trap '' TERM; sleep 61 & wait; wait", grace_seconds=0.2))
    wait_until(lambda: len(psutil.Process(child.pid).children()) == 1)
    inner = psutil.Process(child.pid).children()[0]
    supervisor.stop_all()
    assert not psutil.pid_exists(child.pid)
    wait_until(lambda: not inner.is_running() or inner.status() == psutil.STATUS_ZOMBIE)


def test_leftovers_of_a_killed_instance_are_ended(folder: DataFolder, supervisor: Supervisor, shell: Shell) -> None:
    line = "trap 'echo asked; exit' TERM; echo up; while :; do sleep 0.05; done"
    children = [supervisor.start(shell(line, name)) for name in ("backend", "worker")]
    wait_until(lambda: all(child.last_lines() == "up" for child in children))
    assert end_leftovers(folder.processes) == ["backend", "worker"]
    # The worker is killed so that its trainers go on; the others are asked.
    assert [child.last_lines() for child in children] == ["up\nasked", "up"]
    assert not any(psutil.pid_exists(child.pid) for child in children)
    assert end_leftovers(folder.processes) == []


def test_a_stranger_with_a_reused_process_id_is_left_alone(
    folder: DataFolder, supervisor: Supervisor, shell: Shell
) -> None:
    child = supervisor.start(shell("exec sleep 60"))
    child.created -= 5.0
    record_processes(folder.processes, [child])
    assert end_leftovers(folder.processes) == []
    assert child.exit_code() is None
