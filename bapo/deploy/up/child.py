"""A child process of `bapo up`: its own process group, its own log file, and how it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

LARGEST_LOG_BYTES = 20_000_000
"""A larger log is rotated to `.1` when its process starts."""

OUR_PYTHON: Mapping[str, str] = {"PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}
"""Variables of our own services. Nothing is imported from the current folder, which may have a `worker` or `backend`;
what they write goes to files, whatever encoding the terminal has."""


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A process to start, and the signal that stops it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the current environment."""
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 10.0
    """Time between the stop signal and SIGKILL."""
    user: int | None = None
    group: int | None = None
    folder: Path | None = None
    prepare: Callable[[], None] | None = None
    """Called before each start."""
    socket: Path | None = None
    """The only way to reach it: once that is gone, it is started again."""


class Child:
    """A started process."""

    def __init__(self, spec: ChildSpec, logs: Path) -> None:
        self.spec = spec
        if spec.prepare is not None:
            spec.prepare()
        logs.mkdir(exist_ok=True)
        self.log = logs / f"{spec.name}.log"
        if self.log.exists() and self.log.stat().st_size > LARGEST_LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        self.started = time.monotonic()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            # Its own session: the terminal's Ctrl-C reaches only us, and the group can be ended as a whole.
            self._process = subprocess.Popen(
                spec.command,
                env={**os.environ, **spec.environment, **OUR_PYTHON},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=spec.user,
                group=spec.group,
                extra_groups=[] if spec.user is not None else None,
                cwd=spec.folder,
            )
        self.pid = self._process.pid
        self.created = psutil.Process(self.pid).create_time()
        self._was_reachable = False

    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._process.poll()

    def has_lost_its_socket(self) -> bool:
        """Return whether it has lost its socket; True only once."""
        if self.spec.socket is None:
            return False
        is_reachable = self.spec.socket.exists()
        has_lost = self._was_reachable and not is_reachable
        self._was_reachable = is_reachable
        return has_lost

    def ask_to_stop(self) -> None:
        """Send the stop signal to the process itself; it ends its own children."""
        if self._process.poll() is None:
            self._process.send_signal(self.spec.stop_signal)

    def end(self) -> None:
        """Wait for a process that was asked to stop; kill its group after the grace period."""
        try:
            self._process.wait(self.spec.grace_seconds)
        except subprocess.TimeoutExpired:
            kill_group(self.pid)
            self._process.wait()

    def last_lines(self, count: int = 12) -> str:
        """Return the last lines of its log since it started."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-count:])


def kill_group(leader: int) -> None:
    """Send SIGKILL to a process that leads its own group, and to the group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return
