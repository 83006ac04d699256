"""Health of the worker: a time stamp in its folder, renewed with each heartbeat."""

from __future__ import annotations

import sys
import time
from pathlib import Path

STAMP_FILE = "last-heartbeat"
STALE_AFTER_SECONDS = 60.0
"""Age of the last heartbeat, in seconds, beyond which a worker needs attention; a restart of the server takes less."""


def stamp(folder: Path) -> None:
    """Record that the server has answered a heartbeat."""
    (folder / STAMP_FILE).touch()


def seconds_since_heartbeat(folder: Path) -> float | None:
    """Return the age of the last heartbeat that the server answered, in seconds; `None` before the first."""
    try:
        return max(0.0, time.time() - (folder / STAMP_FILE).stat().st_mtime)
    except FileNotFoundError:
        return None


def check_health(folder: Path) -> int:
    """Print the worker's health; exit status 0 if the server heard it within the last minute."""
    age = seconds_since_heartbeat(folder)
    if age is None:
        print(f"no worker of {folder} has been heard by its server yet: see the worker's log", file=sys.stderr)
        return 1
    if age > STALE_AFTER_SECONDS:
        print(f"the server last heard this worker {age:.0f} s ago: see the worker's log", file=sys.stderr)
        return 1
    print(f"the server heard this worker {age:.0f} s ago")
    return 0
