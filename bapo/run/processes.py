"""Processes that are known by their id and start time, so that a reused id is never taken for another."""

from __future__ import annotations

import psutil

START_TIME_TOLERANCE_SECONDS = 0.5
"""A start time is computed from the system's clock, which is set now and then."""


def process_of(pid: int, created: float) -> psutil.Process | None:
    """Return the process with this id and start time; None if it has ended."""
    try:
        process = psutil.Process(pid)
        is_it = abs(process.create_time() - created) < START_TIME_TOLERANCE_SECONDS
        return process if is_it and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None
