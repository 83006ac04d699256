"""Limits of a process: memory, CPU time, and what it may write."""

from __future__ import annotations

import math
import resource
from typing import NamedTuple


class Limits(NamedTuple):
    """Limits that the kernel enforces on the process of an isolated function; None: unlimited."""

    memory_bytes: int | None = None
    """Address space."""
    cpu_seconds: int | None = None
    """CPU time of one call: whether it is reached does not depend on the load of the machine."""
    file_bytes: int | None = None
    """Size of each file that it writes."""
    maps_files: bool = False
    """Do not count files that it maps as memory, such as weights of any size."""

    def apply(self) -> None:
        """Limit this process, except for its CPU time."""
        _limit(resource.RLIMIT_DATA if self.maps_files else resource.RLIMIT_AS, self.memory_bytes)
        _limit(resource.RLIMIT_FSIZE, self.file_bytes)
        # No core file when the kernel ends the process.
        _limit(resource.RLIMIT_CORE, 0)

    def begin_call(self) -> None:
        """Let the kernel end this process when the next call computes for too long, even if its parent is gone."""
        if self.cpu_seconds is not None:
            used = resource.getrusage(resource.RUSAGE_SELF)
            _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + self.cpu_seconds)


def _limit(what: int, most: int | None) -> None:
    if most is not None:
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
