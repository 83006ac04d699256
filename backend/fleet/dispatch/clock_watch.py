"""Detects jumps of the database's clock, after which times cannot be compared with earlier ones."""

from __future__ import annotations

import time
from datetime import datetime


class ClockWatch:
    """Compares the database's clock, which may be set, with a monotonic one."""

    def __init__(self, tolerance_seconds: float, longest_round_seconds: float) -> None:
        self._tolerance = tolerance_seconds
        self._longest_round = max(tolerance_seconds, longest_round_seconds)
        self._last: tuple[float, float] | None = None

    def is_broken(self, now: datetime, monotonic: float | None = None) -> bool:
        """Return whether, since the last look, the clock was set by more than the tolerance or we were away.

        Away is a server that was suspended or waited for its database: no heartbeat could reach it. A busy round is no
        absence, or short leases would never end.
        """
        seen = (now.timestamp(), time.monotonic() if monotonic is None else monotonic)
        last, self._last = self._last, seen
        if last is None:
            return False
        passed, really_passed = seen[0] - last[0], seen[1] - last[1]
        return abs(passed - really_passed) > self._tolerance or really_passed > self._longest_round
