"""Waiting for what is to come true."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 300.0
"""Three trainers that start beside other work on two cores take minutes."""


def wait_until(condition: Callable[[], bool], timeout_seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition. Raises AssertionError when it does not come true."""
    deadline = time.monotonic() + timeout_seconds
    pause = 0.01
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(pause)
        # A look is often a request, which takes the machine from what is waited for.
        pause = min(1.5 * pause, 0.2)
