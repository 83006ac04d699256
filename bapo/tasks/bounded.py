"""Runs a function in its own process with limits: parsing a model's mathematics can hang or exhaust the memory.

A signal is not enough: it reaches only the main thread, and cannot interrupt a long operation inside C.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

PROCESS = "bapo.tasks.bounded_process"
WALL_SECONDS = 60.0
"""Limit of one call, for a process that neither computes nor answers."""
START_SECONDS = 300.0


class CallFailedError(Exception):
    """The function raised, or exceeded its time or memory."""


class BoundedFunction:
    """The function `module:function` of JSON values; its process starts at the first call, and again if it ended."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result. Thread-safe: calls wait for one another. Raises CallFailedError."""
        with self._lock:
            process = self._process or self._start()
            try:
                stdin = process.stdin
                assert stdin is not None
                stdin.write(json.dumps(arguments).encode() + b"\n")
                stdin.flush()
                answer = json.loads(_line(process, WALL_SECONDS))
            except (OSError, _EndedError):
                self._stop()
                raise CallFailedError("it took too long") from None
        if "error" in answer:
            raise CallFailedError(answer["error"])
        return answer["value"]

    def _start(self) -> subprocess.Popen[bytes]:
        source = str(Path(__file__).parents[2])
        paths = [source, *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
        process = subprocess.Popen(
            [sys.executable, "-m", PROCESS, self._place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        )
        weakref.finalize(self, _end, process)
        try:
            _line(process, START_SECONDS)
        except _EndedError:
            _end(process)
            raise CallFailedError(f"the process of {self._place} did not start: its message is above") from None
        self._process = process
        return process

    def _stop(self) -> None:
        if self._process is not None:
            _end(self._process)
            self._process = None


class _EndedError(Exception):
    """The process ended, or the time ran out."""


def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    stdout = process.stdout
    assert stdout is not None
    deadline, found = time.monotonic() + seconds, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise _EndedError
            part = os.read(stdout.fileno(), 65_536)
            if not part:
                raise _EndedError
            found += part
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except OSError:
            # What was still to be written to it no longer matters.
            continue
