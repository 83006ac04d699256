"""Which GPUs a worker gives to runs, and that no two runs get the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.api.runs import RunCreate, RunStatus
from bapo.api.workers import GpuInfo
from bapo.client import Client
from tests.support.services import BackendServer, new_database, running_backend, wait_until
from tests.support.simulated_engine import PACE_VARIABLE
from tests.support.simulated_training import TRAINER
from tests.support.stack import SMALL_RUN
from tests.support.waiting import PATIENCE_SECONDS
from worker.attempts import Attempt
from worker.settings import WorkerSettings
from worker.system import Device, devices, usable_gpus
from worker.trainer_process import end_rest_of_session

H200 = [Device(index, f"GPU-{index}f00-77", "H200", 139.8) for index in range(4)]


def indices(chosen: list[int] | None, visible: str | None) -> list[int]:
    return [gpu.index for gpu in usable_gpus(H200, chosen, visible)]


def test_a_worker_uses_the_gpus_that_it_sees_or_was_told() -> None:
    assert indices(None, None) == [0, 1, 2, 3]
    assert indices(None, "3,1") == [1, 3]
    assert indices(None, "GPU-2f00") == [2]
    assert indices(None, "") == []
    assert indices([2, 0, 2], "1") == [2, 0]
    assert indices([], None) == []
    with pytest.raises(ValueError, match="this machine has no GPU 4: choose among 0, 1, 2, 3"):
        indices([0, 4], None)


def test_where_no_driver_answers_the_named_gpus_are_taken_to_be_there() -> None:
    assert usable_gpus([], [0, 1], None) == [GpuInfo(index=0), GpuInfo(index=1)]
    assert usable_gpus([], None, "0") == []


def test_the_answer_of_the_driver_is_read(nvidia_smi: Callable[[str], None]) -> None:
    nvidia_smi("printf '0, GPU-8a1, NVIDIA H200, 143771\\n1, GPU-9b2, NVIDIA GB10, [N/A]\\n'")
    assert devices() == (
        # 143,771 MiB / 1,024.
        Device(0, "GPU-8a1", "NVIDIA H200", 143_771 / 1024),
        Device(1, "GPU-9b2", "NVIDIA GB10", None),
    )


@pytest.mark.parametrize(("text", "expected"), [("", None), ("none", []), ("0, 1", [0, 1]), ("3", [3])])
def test_gpus_are_named_in_a_setting(text: str, expected: list[int] | None) -> None:
    assert WorkerSettings(server_url="https://x", worker_gpus=text).gpu_indices == expected


@pytest.mark.parametrize("text", ["a", "0;1", "-1", "0,,1", "70000"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="give indices separated by commas"):
        WorkerSettings(server_url="https://x", worker_gpus=text)


def test_an_attempt_of_an_earlier_release_keeps_its_gpu(tmp_path: Path) -> None:
    saved = {"run_id": "r", "number": 1, "fencing_token": 1, "run_folder": str(tmp_path), "gpu": "2"}
    old = Attempt.model_validate(saved)
    assert old.gpus == (2,)
    assert old.shares_gpu_with(old.model_copy(update={"gpus": (1, 2)}))
    assert not old.shares_gpu_with(old.model_copy(update={"gpus": None}))


def test_what_a_trainer_left_in_its_session_is_ended() -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid)"
    trainer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True)
    created = psutil.Process(trainer.pid).create_time()
    left = int(trainer.communicate()[0])
    end_rest_of_session(trainer.pid, created + 3600)
    assert psutil.pid_exists(left)
    end_rest_of_session(trainer.pid, created)
    wait_until(lambda: not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE)


# ---------------------------------------------------------------- a real worker with two GPUs that nobody looks at


@pytest.fixture
def server(postgres_server: str, tmp_path: Path) -> Iterator[BackendServer]:
    # However long a busy machine takes to start the worker again: its runs are not lost.
    with new_database(postgres_server) as url, running_backend(url, tmp_path) as server:
        yield server


class WorkerProcess:
    """A worker with two GPUs."""

    def __init__(self, server: BackendServer, folder: Path) -> None:
        arguments = ["--server", server.url, "--token-file", str(server.settings.worker_token_file)]
        arguments += ["--folder", str(folder), "--gpus", "0,1", "--slots", "3", "--name", "w"]
        self._command = [sys.executable, "-m", "tests.support.simulated_worker", "run", *arguments]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, env={**os.environ, PACE_VARIABLE: "1"}, stderr=subprocess.DEVNULL)

    def kill_and_start_again(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = self._start()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def worker(server: BackendServer, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(server, tmp_path / "worker")
    yield worker
    worker.end()


def visible(server: BackendServer) -> Mapping[str, Mapping[int, str]]:
    """Read CUDA_VISIBLE_DEVICES of each trainer that is at work, by run."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            module, folder = (arguments := process.cmdline()[1:4])[:2], Path(arguments[-1] if arguments else "/")
            if module == [*TRAINER] and folder.parent == server.settings.runs_dir:
                found[folder.name][process.pid] = process.environ()["CUDA_VISIBLE_DEVICES"]
    return found


def test_no_two_trainers_see_one_gpu_also_after_the_worker_was_killed(
    server: BackendServer, worker: WorkerProcess
) -> None:
    long: dict[str, Any] = {**SMALL_RUN, "training.steps": 100_000}
    with server.client() as people:
        a, b = (_submit(people, name, long) for name in ("a", "b"))
        cpu = _submit(people, "cpu", {**long, "engine.device": "cpu"})
        c = _submit(people, "c", long)
        wait_until(lambda: visible(server).keys() >= {a, b, cpu})
        seen = visible(server)
        assert sorted(list(seen[run].values()) for run in (a, b, c)) == [[], ["0"], ["1"]]
        # A run on the CPU sees none.
        assert list(seen[cpu].values()) == [""]
        wait_until(lambda: people.run(c).status_reason is not None)
        worker.kill_and_start_again()
        people.stop(cpu)
        wait_until(lambda: people.run(cpu).status is RunStatus.CANCELLED)
        # The slot is free now, the GPUs are not: the trainers were found again.
        wait_until(lambda: people.run(c).status_reason == "waits for 1 GPU on one worker to be free")
        assert visible(server) == {a: seen[a], b: seen[b]}
        people.stop(a)
        wait_until(lambda: c in visible(server))
        last = visible(server)
        assert (last.keys(), list(last[c].values())) == ({b, c}, list(seen[a].values()))
        for run_id in (b, c):
            people.stop(run_id)
        wait_until(lambda: not people.queue().busy)


def _submit(people: Client, name: str, changes: Mapping[str, Any]) -> str:
    return people.create_run(RunCreate(name=name, recipe="countdown-demo", changes=dict(changes))).id
