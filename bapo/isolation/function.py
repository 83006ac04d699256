"""Runs a function in its own process with limits: what it reads can make it hang, or exhaust the memory.

A signal is not enough: it reaches only the main thread, and cannot interrupt a long operation inside C. Arguments and
results travel as JSON: a pickle from a process that a malicious file took over would run programs here.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, ParamSpec, Self, TypeVar, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from bapo.isolation.limits import Limits

PROCESS = "bapo.isolation.process"
START_SECONDS = 300.0
"""Time limit for the imports of a new process."""
END_SECONDS = 5.0
"""Time limit for the end of a process that has closed its pipes."""
POLL_SECONDS = 0.5

P = ParamSpec("P")
R = TypeVar("R")


class CallFailedError(Exception):
    """The function raised, or exceeded its time or memory."""


class CallCancelledError(Exception):
    """The call was cancelled."""


class IsolatedFunction(Generic[P, R]):
    """A function of a module, of typed arguments; its process starts at the first call, and again if it ended.

    `seconds`: the time limit of one call, for a process that neither computes nor answers. `is_cancelled` is called at
    the start and then twice a second.
    """

    def __init__(
        self,
        function: Callable[P, R],
        limits: Limits,
        *,
        seconds: float,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        self._place = f"{function.__module__}:{function.__qualname__}"
        self._result: TypeAdapter[R] = TypeAdapter(get_type_hints(function)["return"])
        self._limits, self._seconds, self._is_cancelled = limits, seconds, is_cancelled
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Return the function's result. Thread-safe: calls wait for one another.

        Raises CallFailedError and CallCancelledError.
        """
        call = json.dumps([arguments, named], default=to_jsonable_python)
        with self._lock:
            try:
                answer = json.loads(self._answer(call.encode() + b"\n"))
            except BaseException:
                self._end()
                raise
        if "error" in answer:
            raise CallFailedError(answer["error"])
        return self._result.validate_python(answer["value"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _answer(self, call: bytes) -> bytearray:
        if self._process is None:
            self._process = self._start()
            self._line(self._process, START_SECONDS)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(call)
            self._process.stdin.flush()
        except OSError:
            raise CallFailedError(self._ended(self._process)) from None
        return self._line(self._process, self._seconds)

    def _start(self) -> subprocess.Popen[bytes]:
        paths = [str(Path(__file__).parents[2]), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        # Threads reserve address space, which is limited.
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", PROCESS, self._place, json.dumps(self._limits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1", **threads},
        )
        self._finalizer = weakref.finalize(self, _end, process)
        return process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytearray:
        assert process.stdout is not None
        deadline, found = time.monotonic() + seconds, bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not found.endswith(b"\n"):
                if self._is_cancelled():
                    raise CallCancelledError
                left = deadline - time.monotonic()
                if left <= 0:
                    raise CallFailedError(f"it took longer than {seconds:.0f} s")
                if selector.select(min(left, POLL_SECONDS)):
                    part = os.read(process.stdout.fileno(), 65_536)
                    if not part:
                        raise CallFailedError(self._ended(process))
                    found += part
        return found

    def _ended(self, process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return "its process no longer answers"
        if code == -signal.SIGXCPU:
            return f"it took longer than {self._limits.cpu_seconds} s of CPU time"
        if code < 0:
            return f"its process ended ({signal.strsignal(-code)}), as it does where memory runs out"
        return f"the process of {self._place} ended with code {code}: its message is in the log"

    def _end(self) -> None:
        if self._process is not None:
            self._process = None
            self._finalizer()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    # What was still to be written to it no longer matters.
    with suppress(OSError), process:
        pass
