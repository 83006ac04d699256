"""Fixtures: the whole product in a temporary folder, started by the command that people type."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.api.runs import TERMINAL_STATUSES, RunCreate, RunDetail
from bapo.client import Client
from bapo.records import comparable, parse_record
from tests.support.ports import hold_port
from tests.support.trained import train_one_after_another

PATIENCE_SECONDS = 600.0
"""For what takes seconds while the machine is idle: tests share it with one another and with whatever else runs."""
ANSWER_SECONDS = 120.0
"""For an answer of the server, which waits for its turn on a busy machine."""
NUM_STEPS = 40
SMALL_RUN: Mapping[str, Any] = {
    "task.num_train": 48,
    "task.num_test": 8,
    "rollout.batch_size": 12,
    "rollout.group_size": 4,
    "method.v": 3,
    "method.m": 2,
    "method.c2": ["0", "0"],
    "method.c3": ["1/2", "3/4"],
    "training.batch_size": 12,
    "training.mini_batch_size": 5,
    "training.steps": NUM_STEPS,
    "training.checkpoint_interval": 8,
    "tracking.num_prompts": 8,
    "tracking.interval": 10,
    "evaluation.interval": 20,
    "evaluation.num_samples": 2,
}
"""A run of a few seconds in which everything happens: re-evaluation, reuse, tracking, evaluation, checkpoints."""


def wait_for(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS, pause: float = 0.2) -> Any:
    """Return the first true value of the condition, looked at every `pause` seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        # Each look at a run is a request that the run's own machine answers.
        time.sleep(pause)
    return value


def assignments(changes: Mapping[str, Any] | None = None) -> list[str]:
    """The small run as `bapo train --set` takes it."""
    return [f"{field}={json.dumps(value)}" for field, value in {**SMALL_RUN, **(changes or {})}.items()]


def recorded_steps(folder: Path) -> list[dict[str, Any]]:
    """What must be equal between equal runs, of a run folder with one attempt."""
    lines = (folder / "attempt-1" / "records.jsonl").read_text().splitlines()
    return [comparable(record) for record in map(parse_record, lines) if record.type != "event"]


def essence(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What must be equal between equal runs, of records as the API answers them."""
    return [comparable(parse_record(json.dumps(record))) for record in records]


class Stack:
    """One `bapo up`."""

    def __init__(self, folder: Path, python: Path | str = sys.executable) -> None:
        self.folder = folder
        self._python = str(python)
        self._held_port = hold_port()
        self.port: int = self._held_port.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.output = ""
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *arguments: str, **environment: str) -> None:
        """Start, and return when it has printed its link."""
        options = ["--port", str(self.port), "--data", str(self.folder), "--no-browser", *arguments]
        self._process = subprocess.Popen(
            [self._python, "-m", "bapo", "up", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        )
        assert self._process.stdout is not None
        self.output = ""
        for line in self._process.stdout:
            self.output += line
            if "Ctrl-C stops everything" in line:
                return
        raise AssertionError(f"bapo up ended with code {self._process.wait()}:\n{self.output}")

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Signal it, wait for its end and return its exit code."""
        self.interrupt(number)
        return self.wait(reads_output=number != signal.SIGKILL)

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Signal it as Ctrl-C does."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self, *, reads_output: bool = True) -> int:
        """Wait for its end and return its exit code.

        Where it was killed, its children hold its output open: there is no end to read to.
        """
        assert self._process is not None
        assert self._process.stdout is not None
        code = self._process.wait(PATIENCE_SECONDS)
        self.output += self._process.stdout.read() if reads_output else ""
        self._process.stdout.close()
        self._process = None
        return code

    @property
    def is_up(self) -> bool:
        return self._process is not None

    def client(self) -> Client:
        """Return a client of the administrator, who waits longer for an answer than people do."""
        token = (self.folder / "admin-token").read_text().strip()
        return Client(self.url, token=token, timeout_seconds=ANSWER_SECONDS)

    def service(self, name: str) -> psutil.Process:
        """A child of `bapo up` by its name."""
        entries = json.loads((self.folder / "processes.json").read_bytes())
        return next(psutil.Process(entry["pid"]) for entry in entries if entry["name"] == name)

    def trainer(self, run_id: str) -> psutil.Process:
        """Return the trainer of a run that is at work."""

        def pid() -> int | None:
            for path in (self.folder / "worker" / "attempts").glob(f"{run_id}-*.json"):
                # An attempt's file is removed once the attempt has ended.
                with suppress(FileNotFoundError):
                    found: int | None = json.loads(path.read_bytes())["pid"]
                    return found
            return None

        return psutil.Process(wait_for(pid))

    def processes(self) -> list[psutil.Process]:
        """Every process that mentions the data folder, trainers included."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if process.pid != os.getpid() and any(str(self.folder) in part for part in process.info["cmdline"] or []):
                found.append(process)
        return found

    def close(self) -> None:
        """Kill whatever a failed test left, and give the port back."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._held_port.close()


@pytest.fixture(scope="session")
def make_stack() -> Iterator[Callable[[], Stack]]:
    """Makes stacks, and sees to it that nothing of them is left."""
    with tempfile.TemporaryDirectory(prefix="bapo-stack-", ignore_cleanup_errors=True) as place:
        made: list[Stack] = []

        def make() -> Stack:
            made.append(Stack(Path(place) / f"data-{len(made)}"))
            return made[-1]

        yield make
        for stack in made:
            if stack.is_up:
                stack.stop(signal.SIGTERM)
            stack.close()


@pytest.fixture(scope="session")
def stack(make_stack: Callable[[], Stack]) -> Stack:
    """A running product that tests share; its webhooks may reach receivers on this machine."""
    made = make_stack()
    made.start("--no-demo", BAPO_WEBHOOK_ALLOWED_HOSTS="127.0.0.1")
    return made


@pytest.fixture(scope="session")
def undisturbed_records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The small run, trained without any server: what every disturbed run must equal."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train_one_after_another({folder: assignments()})
    return recorded_steps(folder)


def submit(client: Client, name: str, **changes: Any) -> str:
    """Submit the small run; another method takes none of its method fields."""
    small = {
        field: value
        for field, value in SMALL_RUN.items()
        if "method.type" not in changes or not field.startswith("method.")
    }
    body = RunCreate(recipe="countdown-demo", name=name, changes={**small, **changes})
    return client.create_run(body).id


def at_step(client: Client, run_id: str, step: int) -> RunDetail:
    """The run, once it has completed a step."""
    return wait_for(lambda: run if (run := client.run(run_id)).step >= step else None)


def ended(client: Client, run_id: str) -> RunDetail:
    """Return the run once it has ended."""
    return wait_for(lambda: run if (run := client.run(run_id)).status in TERMINAL_STATUSES else None, pause=0.5)


def all_records(client: Client, run_id: str, kind: str) -> list[dict[str, Any]]:
    """Every record of a type, page by page."""
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = client.records(run_id, type=kind, cursor=cursor, limit=50)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            return items


def assert_equal_to_undisturbed(client: Client, run_id: str, undisturbed: Sequence[Mapping[str, Any]]) -> None:
    """Compare every record of the run with those of one that nothing disturbed: none is lost, none is there twice."""
    for kind in ("step", "evaluation", "tracking"):
        recorded = essence(all_records(client, run_id, kind))
        expected = [record for record in undisturbed if record["type"] == kind]
        assert recorded == sorted(expected, key=lambda record: record["step"]), kind
