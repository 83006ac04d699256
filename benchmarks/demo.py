"""The demo in separate processes: a run by `bapo train`, and the whole product by `bapo up`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bapo.records import AnyRecord, EvaluationRecord, StepRecord
from bapo.run.journal import merged_records


class DemoRun(NamedTuple):
    """A run that has ended."""

    summary: Mapping[str, Any]
    records: Sequence[AnyRecord]

    @property
    def steps(self) -> list[StepRecord]:
        """Training steps of the run."""
        return [record for record in self.records if isinstance(record, StepRecord)]

    def evaluations(self, dataset: str) -> list[EvaluationRecord]:
        """Return the evaluations on one held-out set, in the order of their steps."""
        found = [record for record in self.records if isinstance(record, EvaluationRecord)]
        return [record for record in found if record.dataset == dataset]


def train_command(run_folder: Path, settings: Mapping[str, Any]) -> list[str]:
    """Return the command that trains the demo with these fields changed."""
    changes = [argument for field, value in settings.items() for argument in ("--set", f"{field}={json.dumps(value)}")]
    return [sys.executable, "-m", "bapo", "train", "countdown-demo", *changes, "--out", str(run_folder)]


def train_demo(run_folder: Path, settings: Mapping[str, Any]) -> DemoRun:
    """Train the demo to its end. Raises RuntimeError with what it said last where it fails."""
    output = output_of(train_command(run_folder, settings))
    return DemoRun(json.loads(output.splitlines()[-1]), merged_records(run_folder))


def output_of(command: Sequence[str]) -> str:
    """Return the output of a command. Raises RuntimeError with the last lines if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-1000:]} {done.stderr[-4000:]}")
    return done.stdout


@contextmanager
def product(folder: Path) -> Iterator[tuple[str, str]]:
    """Run `bapo up` in a folder; yield its address and the administrator's token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bapo", "up", "--port", str(port), "--data", str(folder)]
    process = subprocess.Popen([*command, "--no-browser", "--no-demo"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl-C stops everything" in line:
                break
        yield f"http://127.0.0.1:{port}", (folder / "admin-token").read_text().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
