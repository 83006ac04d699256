"""Has trainers forked by a process that has imported what they need (`bapo.run.zygote`), started when first needed."""

from __future__ import annotations

import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress

from bapo.config.engine import EngineConfig
from bapo.run.processes import process_of
from bapo.run.zygote import TITLE_ROOM, Forked, ForkRequest

MODULE = "bapo.run.zygote"
POLL_SECONDS = 0.2
READ_BYTES = 65_536
ROOM_BYTES = 4_096
"""A process's title takes the place of its first arguments and environment, and no more."""


def can_fork(engine: EngineConfig, python: str, *, has_gpus: bool) -> bool:
    """Return whether a trainer that would be started with this Python may be forked instead.

    What CUDA and libraries of macOS set up does not survive a fork, and verl runs in another interpreter.
    """
    return sys.platform == "linux" and engine.type == "local" and python == sys.executable and not has_gpus


class ZygoteError(OSError):
    """The zygote did not start, or has ended."""


class ForkedTrainer:
    """A trainer that is no child of this process, and can be polled like one."""

    def __init__(self, family: _Family, pid: int, created: float) -> None:
        self.pid = pid
        self.created = created
        self._family = family

    def poll(self) -> int | None:
        """Return its exit code: None while it runs, 0 if unknown because the process that forked it has ended too."""
        code = self._family.code_of(self.pid)
        if code is not None or self._family.is_alive:
            return code
        return 0 if process_of(self.pid, self.created) is None else None


class Zygote:
    """Forks trainers; may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._family: _Family | None = None

    def fork(self, request: ForkRequest, environment: Mapping[str, str]) -> ForkedTrainer:
        """Return the trainer, once it runs. `environment`: of the process that forks. Raises ZygoteError."""
        with self._lock:
            if self._family is not None:
                with suppress(ZygoteError):  # Without trainers it ends after a while.
                    return self._family.fork(request)
            self._family = _Family(environment)
            return self._family.fork(request)

    def close(self) -> None:
        """End the process that forks; its trainers continue."""
        with self._lock:
            if self._family is not None:
                self._family.end()


class _Family:
    """One process that forks, and the exit codes of the trainers that it forked."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", MODULE],
            env={**environment, TITLE_ROOM: "-" * ROOM_BYTES},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is not meant for it, and the end of this process is seen at its input.
        )
        self._lock = threading.Lock()
        self._codes: dict[int, int | None] = {}
        self._unread = b""
        self.is_alive = True

    def fork(self, request: ForkRequest) -> ForkedTrainer:
        assert self._process.stdin is not None
        with self._lock, suppress(BrokenPipeError):
            running = {pid for pid, code in self._codes.items() if code is None}
            if self.is_alive:
                self._process.stdin.write(request.model_dump_json().encode() + b"\n")
            while self.is_alive:
                for message in self._read():
                    if message.code is None:
                        return ForkedTrainer(self, message.pid, message.created)
                    if message.pid not in running:
                        raise ZygoteError(f"the trainer ended with code {message.code} before it began")
        self.end()
        raise ZygoteError(f"the process that forks trainers ended with code {self._process.returncode}")

    def end(self) -> None:
        with self._lock, self._process:
            self.is_alive = False

    def code_of(self, pid: int) -> int | None:
        """Return the exit code; None while it runs, or if it is not known."""
        assert self._process.stdout is not None
        with self._lock:
            while self.is_alive and select.select([self._process.stdout], [], [], 0)[0]:
                self._read()
            return self._codes[pid]

    def _read(self) -> list[Forked]:
        """Wait for its next message and return it."""
        assert self._process.stdout is not None
        # A trainer that it forked may still hold its output open, so that its end does not show there.
        while not select.select([self._process.stdout], [], [], POLL_SECONDS)[0]:
            if self._process.poll() is not None:
                self.is_alive = False
                return []
        chunk = self._process.stdout.read(READ_BYTES)
        self.is_alive = bool(chunk)
        *lines, self._unread = (self._unread + (chunk or b"")).split(b"\n")
        messages = [Forked.model_validate_json(line) for line in lines]
        self._codes.update({each.pid: each.code for each in messages})
        return messages
