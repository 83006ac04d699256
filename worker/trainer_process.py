"""The detached trainer process: start, find again, signal, and read how it ended.

It leads a session of its own, so that neither the worker's end nor the terminal's Ctrl-C touches it. A process is
known by its id and start time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

import psutil
from pydantic import ValidationError

from bapo.records import EventRecord, parse_record
from bapo.run.journal import RECORDS_FILE, complete_lines
from bapo.run.line_reader import LOG_FILE
from bapo.run.run_folder import SUMMARY_FILE
from bapo.run.trainer import EXIT_CANNOT_WRITE
from worker.attempts import Attempt, Ending
from worker.system import VISIBLE_VARIABLE

_START_TIME_TOLERANCE_SECONDS = 0.5
REST_GRACE_SECONDS = 10.0


class TrainerProcess:
    """A trainer that this worker started or found again."""

    def __init__(self, process: psutil.Process, child: subprocess.Popen[bytes] | None = None) -> None:
        self._process = process
        self._child = child
        self.pid = process.pid
        self.created = process.create_time()

    def is_running(self) -> bool:
        """Whether it is running; reaps it if it is a child."""
        if self._child is not None:
            return self._child.poll() is None
        try:
            return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and always if it is not a child."""
        return self._child.poll() if self._child is not None else None

    def ask_to_stop(self) -> None:
        """Send SIGTERM: the trainer ends after its step, with a checkpoint.

        Not to its process group: the processes of its engine have to go on until then.
        """
        if self.is_running():
            os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to its process group."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)


def _arguments(attempt: Attempt) -> list[str]:
    return ["-m", "bapo.run.trainer", str(attempt.run_folder), "--attempt", str(attempt.number)]


def start_trainer(attempt: Attempt, threads: int, python: str = sys.executable) -> TrainerProcess:
    """Start the trainer of an attempt with its output in `trainer.log`."""
    # The trainer reads nothing but its folder; our settings hold secrets.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BAPO_")}
    environment["OMP_NUM_THREADS"] = str(threads)
    environment["PYTHONUNBUFFERED"] = "1"
    environment["PYTHONSAFEPATH"] = "1"
    if attempt.gpus is not None:
        # Empty: none at all.
        environment[VISIBLE_VARIABLE] = ",".join(str(index) for index in attempt.gpus)
    attempt.folder.mkdir(parents=True, exist_ok=True)
    with (attempt.folder / LOG_FILE).open("ab") as log:
        child = subprocess.Popen(
            [python, *_arguments(attempt)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return TrainerProcess(psutil.Process(child.pid), child)


def find_trainer(attempt: Attempt) -> TrainerProcess | None:
    """The attempt's trainer, started before the worker's restart; None where it has ended or never began."""
    if attempt.pid is not None:
        try:
            process = psutil.Process(attempt.pid)
            created = process.create_time()
        except psutil.NoSuchProcess:
            return None
        same = attempt.created is not None and abs(created - attempt.created) < _START_TIME_TOLERANCE_SECONDS
        return TrainerProcess(process) if same else None
    # The worker died between starting it and writing its id down: its arguments tell.
    arguments = _arguments(attempt)
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[1:] == arguments:
            return TrainerProcess(process)
    return None


def end_rest_of_session(pid: int, created: float) -> None:
    """Kill what a trainer that has ended left in its session, such as data loaders: its GPUs are free only then."""
    left = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == pid and process.create_time() >= created - _START_TIME_TOLERANCE_SECONDS:
                process.kill()
                left.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    psutil.wait_procs(left, timeout=REST_GRACE_SECONDS)


def trainers_of(run_folder: Path) -> list[TrainerProcess]:
    """Every trainer on this machine that works in a run's folder, whichever worker started it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if (process.info["cmdline"] or [])[1:4] == ["-m", "bapo.run.trainer", str(run_folder)]:
            found.append(TrainerProcess(process))
    return found


def ending_of(attempt: Attempt, exit_code: int | None) -> Ending:
    """Returns how a trainer ended, from its files and, where known, its exit code.

    Without a summary or a recorded failure it was killed: `lost`, to be tried again from its last checkpoint, as is one
    that could not write its files.
    """
    summary = attempt.folder / SUMMARY_FILE
    if summary.exists():
        return Ending(status=json.loads(summary.read_bytes())["status"])
    failure = _recorded_failure(attempt.folder / RECORDS_FILE)
    if failure is not None:
        cannot_write = bool(failure.data.get("cannot_write"))
        return Ending(status="lost" if cannot_write else "failed", reason=failure.message, cannot_write=cannot_write)
    if exit_code is not None and exit_code > 0:
        cannot_write = exit_code == EXIT_CANNOT_WRITE
        reason = _last_line(attempt.folder / LOG_FILE) or f"exit code {exit_code}"
        return Ending(status="lost" if cannot_write else "failed", reason=reason, cannot_write=cannot_write)
    how = f"was ended by {signal.Signals(-exit_code).name}" if exit_code else "is gone without a summary"
    return Ending(status="lost", reason=f"the trainer {how}")


def _recorded_failure(path: Path) -> EventRecord | None:
    newest = deque(complete_lines(path), maxlen=1)
    if not newest:
        return None
    try:
        record = parse_record(newest[0])
    except ValidationError:
        # Of a newer trainer: whatever it says, it is no failure that we know.
        return None
    return record if isinstance(record, EventRecord) and record.event == "failed" else None


def _last_line(path: Path) -> str | None:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else None
