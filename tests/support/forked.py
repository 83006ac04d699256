"""Forks this process for a while."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[int]:
    """Do `work` in a forked process, which exits with 0 unless it raises; it is killed at the end. Yields its id."""
    with warnings.catch_warnings():
        # Of the threads of a runner of tests, which the forked process does not need.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        finally:
            # Nothing of pytest's runs twice.
            os._exit(1)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
