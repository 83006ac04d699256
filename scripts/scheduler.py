"""Runs checks side by side while cores and memory last, and prints a line for each.

Uses the standard library only. What a check prints goes to a file under .test-logs/ and is shown where the check fails.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".test-logs"
LINES_OF_A_FAILURE = 400
PASSED = re.compile(r"(\d+) passed")
SKIPPED = re.compile(r"(\d+) skipped")


@dataclass(frozen=True)
class Check:
    """One command, and what it takes of the machine while it runs."""

    title: str
    command: Sequence[str]
    cores: float = 1.0
    memory_gib: float = 2.0
    after: str | None = None
    """Title of a check that must have succeeded before."""
    is_shown: bool = False
    """True if its output is shown even on success."""


@dataclass(frozen=True)
class Result:
    """Outcome of a check."""

    succeeded: bool
    cpu_seconds: float = 0.0
    """CPU time of the command and of all its awaited descendants, seconds."""
    passed: int = 0
    """Tests, by pytest's last line."""
    skipped: int = 0


def environment_of_checks() -> dict[str, str]:
    """Return the environment of every check: hundreds of processes start, which share compiled modules."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def log_of(check: Check) -> Path:
    """Return the file that the check's output goes to."""
    return LOGS / f"{check.title.replace(' ', '-')}.log"


@dataclass
class _Run:
    check: Check
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)
    cpu_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def has_ended(self) -> bool:
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu_seconds = usage.ru_utime + usage.ru_stime
        return self.process.returncode is not None


def _start(check: Check) -> _Run:
    with log_of(check).open("wb") as log:
        # A separate session: Ctrl-C ends all that the check has started.
        process = subprocess.Popen(
            check.command, cwd=ROOT, env=environment_of_checks(), stdout=log, stderr=log, start_new_session=True
        )
    return _Run(check, process)


def _report(run: _Run) -> Result:
    lines = log_of(run.check).read_text(errors="replace").splitlines()
    succeeded = run.process.returncode == 0
    if run.check.is_shown or not succeeded:
        print(*lines[-LINES_OF_A_FAILURE:], sep="\n")
    last = next((line for line in reversed(lines) if " passed" in line), "")
    took = f"{run.seconds:.0f} s, {run.cpu_seconds:.0f} s of CPU"
    if run.process.returncode < 0:
        took += f", ended by {signal.Signals(-run.process.returncode).name}"
    print(f"bapo: {run.check.title}: {'good' if succeeded else 'FAILED'} ({took}) {last.strip('= ')}")
    sys.stdout.flush()
    return Result(succeeded, run.cpu_seconds, _number(PASSED, last), _number(SKIPPED, last))


def _number(pattern: re.Pattern[str], line: str) -> int:
    found = pattern.search(line)
    return int(found[1]) if found else 0


class Scheduler:
    """Starts checks while cores and memory last; an idle machine always starts the next one."""

    def __init__(self, checks: Sequence[Check], cores: float, memory_gib: float) -> None:
        self._waiting = list(checks)
        self._titles = {check.title for check in checks}
        self._cores, self._memory_gib = cores, memory_gib
        self._running: list[_Run] = []
        self.results: dict[str, Result] = {}

    def _has_room(self, check: Check) -> bool:
        if not self._running:
            return True
        cores = sum(run.check.cores for run in self._running) + check.cores
        memory = sum(run.check.memory_gib for run in self._running) + check.memory_gib
        return cores <= self._cores and memory <= self._memory_gib

    def _is_due(self, check: Check) -> bool:
        return check.after is None or check.after not in self._titles or check.after in self.results

    def step(self) -> bool:
        """Start what there is room for and report what has ended; return False once nothing is left."""
        for check in list(self._waiting):
            if not self._is_due(check):
                continue
            if check.after in self.results and not self.results[check.after].succeeded:
                self._waiting.remove(check)
                self.results[check.title] = Result(succeeded=False)
                print(f"bapo: {check.title}: not run, because '{check.after}' failed")
            elif self._has_room(check):
                self._waiting.remove(check)
                self._running.append(_start(check))
        for run in [run for run in self._running if run.has_ended()]:
            self._running.remove(run)
            self.results[run.check.title] = _report(run)
        return bool(self._waiting or self._running)

    def status(self) -> str:
        """Return one line about what is running."""
        return ", ".join(f"{run.check.title} ({run.seconds:.0f} s)" for run in self._running)

    def end(self) -> None:
        """End what is running, with all its processes."""
        for run in self._running:
            if run.process.poll() is None:
                os.killpg(run.process.pid, signal.SIGTERM)
        for run in self._running:
            run.process.wait()
