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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from pydantic import ValidationError

from bapo.deploy.processes import START_TIME_TOLERANCE_SECONDS, process_of
from bapo.records import EventRecord, parse_record
from bapo.run.journal import RECORDS_FILE, complete_lines
from bapo.run.line_reader import LOG_FILE
from bapo.run.run_folder import SUMMARY_FILE
from bapo.run.trainer import EXIT_CANNOT_WRITE
from bapo.run.zygote import ForkRequest
from worker.attempts import Attempt, Ending
from worker.system import VISIBLE_VARIABLE
from worker.zygote import ForkedTrainer, Zygote, ZygoteError

_MODULE = ("-m", "bapo.run.trainer")
REST_GRACE_SECONDS = 10.0


class TrainerProcess:
    """A trainer that this worker started or found again."""

    def __init__(self, pid: int, created: float, child: subprocess.Popen[bytes] | ForkedTrainer | None = None) -> None:
        self.pid = pid
        self.created = created
        self._child = child

    @classmethod
    def of(cls, process: psutil.Process) -> TrainerProcess:
        """One that is found again."""
        return cls(process.pid, process.create_time())

    def is_running(self) -> bool:
        """Whether it is running; reaps it if it is a child."""
        if self._child is not None:
            return self._child.poll() is None
        return process_of(self.pid, self.created) is not None

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and always if this worker did not start it."""
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
    return [*_MODULE, str(attempt.run_folder), "--attempt", str(attempt.number)]


def start_trainer(
    attempt: Attempt, threads: int, python: str = sys.executable, zygote: Zygote | None = None
) -> TrainerProcess:
    """Start the trainer of an attempt with its output in `trainer.log`; `zygote` forks it, if given."""
    # The trainer reads nothing but its folder; our settings hold secrets.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BAPO_")}
    environment |= {"OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1"}
    if attempt.gpus is not None:
        # Empty: none at all.
        environment[VISIBLE_VARIABLE] = ",".join(str(index) for index in attempt.gpus)
    attempt.folder.mkdir(parents=True, exist_ok=True)
    log = attempt.folder / LOG_FILE
    if zygote is not None:
        arguments = _arguments(attempt)[len(_MODULE) :]
        title = " ".join([python, *_MODULE, *arguments])
        request = ForkRequest(title=title, arguments=arguments, threads=threads, log=log.absolute())
        with suppress(ZygoteError):  # Why it cannot start, a trainer of its own will tell in its log.
            forked = zygote.fork(request, environment)
            return TrainerProcess(forked.pid, forked.created, forked)
    with log.open("ab") as output:
        child = subprocess.Popen(
            [python, *_arguments(attempt)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return TrainerProcess(child.pid, psutil.Process(child.pid).create_time(), child)


def find_trainer(attempt: Attempt) -> TrainerProcess | None:
    """The attempt's trainer, started before the worker's restart; None where it has ended or never began."""
    if attempt.pid is not None:
        found = None if attempt.created is None else process_of(attempt.pid, attempt.created)
        return None if found is None else TrainerProcess.of(found)
    # The worker died between starting it and writing its id down: its arguments tell.
    return next((TrainerProcess.of(each) for each in _processes_with(_arguments(attempt))), None)


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
    """Every trainer on this machine that works in a run's folder, whichever worker started it."""
    return [TrainerProcess.of(each) for each in _processes_with([*_MODULE, str(run_folder)])]


def _processes_with(arguments: Sequence[str]) -> Iterator[psutil.Process]:
    """Processes of any Python whose arguments begin with these; a forked one's title is split at its spaces."""
    wanted = " ".join([*arguments, ""])
    for process in psutil.process_iter(["cmdline"]):
        if " ".join([*(process.info["cmdline"] or [])[1:], ""]).startswith(wanted):
            yield process


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
