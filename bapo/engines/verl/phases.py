"""Times verl's own phases, under verl's names."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

PREFIX = "verl/"
"""Before each name in a record's `timing`."""


class Phases:
    """Collects seconds per phase until they are taken."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the wall time of the block."""
        begin = time.perf_counter()
        yield
        self.add(phase, time.perf_counter() - begin)

    def add(self, phase: str, seconds: float) -> None:
        """Add seconds that were measured elsewhere."""
        name = f"{PREFIX}{phase}"
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def take(self) -> Mapping[str, float]:
        """Return everything since the last call."""
        taken, self._seconds = self._seconds, {}
        return taken
