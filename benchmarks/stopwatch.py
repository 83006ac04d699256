"""A stopwatch for the time that a program spends within some of its calls."""

from __future__ import annotations

import time
from typing import Any


class Stopwatch:
    """Time within calls of some methods of an object, or of all objects of a class."""

    def __init__(self, watched: Any, *names: str) -> None:
        self.seconds = 0.0
        for name in names:
            setattr(watched, name, self._timed(getattr(watched, name)))

    def _timed(self, method: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*given, **named)
            finally:
                self.seconds += time.perf_counter() - began

        return call
