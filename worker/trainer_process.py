"""The trainer of an attempt: start it, find it again, and read how it ended."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
from pydantic import ValidationError

from bapo.pretrained.folders import FOLDER_VARIABLE
from bapo.records import EventRecord, parse_record
from bapo.run.journal import RECORDS_FILE, complete_lines
from bapo.run.line_reader import LOG_FILE
from bapo.run.processes import START_TIME_TOLERANCE_SECONDS, process_of
from bapo.run.run_folder import SUMMARY_FILE
from bapo.run.trainer import EXIT_CANNOT_WRITE
from bapo.run.trainer_process import MODULE, TrainerProcess, start_trainer
from bapo.run.zygote_client import Zygote
from worker.attempts import Attempt, Ending
from worker.system import VISIBLE_VARIABLE

REST_GRACE_SECONDS = 10.0


def _arguments(attempt: Attempt) -> list[str]:
    return [str(attempt.run_folder), "--attempt", str(attempt.number)]


def start_trainer_of(
    attempt: Attempt, threads: int, python: str = sys.executable, zygote: Zygote | None = None
) -> TrainerProcess:
    """Start the trainer of an attempt with its output in `trainer.log`; `zygote` forks it, if given."""
    # The trainer reads nothing but its folder and the models of its machine; our settings hold secrets.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("BAPO_") or name == FOLDER_VARIABLE
    }
    environment |= {"PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    if attempt.gpus is not None:
        # Empty: none at all.
        environment[VISIBLE_VARIABLE] = ",".join(str(index) for index in attempt.gpus)
    attempt.folder.mkdir(parents=True, exist_ok=True)
    return start_trainer(
        *_arguments(attempt),
        python=python,
        environment=environment,
        threads=threads,
        log=attempt.folder / LOG_FILE,
        zygote=zygote,
    )


def find_trainer(attempt: Attempt) -> TrainerProcess | None:
    """Return the attempt's trainer, started before the worker's restart; `None` if it has ended or never began."""
    if attempt.pid is not None:
        found = None if attempt.created is None else process_of(attempt.pid, attempt.created)
        return None if found is None else TrainerProcess.of(found)
    # The worker died between starting it and writing its id down: search by its arguments.
    return next((TrainerProcess.of(each) for each in _processes_with([*MODULE, *_arguments(attempt)])), None)


def end_rest_of_session(pid: int, created: float) -> None:
    """Kill what a trainer that has ended left in its session, such as data loaders: its GPUs are free only then."""
    left = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == pid and process.create_time() >= created - START_TIME_TOLERANCE_SECONDS:
                process.kill()
                left.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    psutil.wait_procs(left, timeout=REST_GRACE_SECONDS)


def trainers_of(run_folder: Path) -> list[TrainerProcess]:
    """Return every trainer on this machine that works in a run's folder, whichever worker started it."""
    return [TrainerProcess.of(each) for each in _processes_with([*MODULE, str(run_folder)])]


def _processes_with(arguments: Sequence[str]) -> Iterator[psutil.Process]:
    """Yield Python processes whose arguments begin with these; the title of a forked one is split at its spaces."""
    wanted = " ".join([*arguments, ""])
    for process in psutil.process_iter(["cmdline"]):
        if " ".join([*(process.info["cmdline"] or [])[1:], ""]).startswith(wanted):
            yield process


def ending_of(attempt: Attempt, exit_code: int | None) -> Ending:
    """Return how a trainer ended, from its files and, if known, its exit code.

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
