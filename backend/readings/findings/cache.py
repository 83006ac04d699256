"""Caches the findings of the runs that were looked at last."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from bapo.analysis.findings.search import Search

MOST_RUNS = 100
LEAST_SECONDS = 3.0
"""A run that records many steps a second is searched again after so long at the earliest."""


@dataclass
class _Entry:
    """A search, the revision that it took in, and when it was made. Its lock makes others wait for who makes it."""

    revision: int | None = None
    search: Search | None = None
    made_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class FindingsCache:
    """Findings by run, made again when a run has recorded more."""

    def __init__(self, most_runs: int = MOST_RUNS, least_seconds: float = LEAST_SECONDS) -> None:
        self._most_runs = most_runs
        self._least_seconds = least_seconds
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def search(self, run_id: str, revision: int, make: Callable[[], Search], *, is_over: bool) -> Search:
        """The findings at this revision, a number that grows with all that the run records.

        Those of a running run may be some seconds old; those of an ended run cover all that it recorded.
        """
        with self._lock:
            entry = self._entries.setdefault(run_id, _Entry())
            self._entries.move_to_end(run_id)
            while len(self._entries) > self._most_runs:
                self._entries.popitem(last=False)
        with entry.lock:
            is_fresh = not is_over and time.monotonic() - entry.made_at < self._least_seconds
            if entry.search is None or (entry.revision != revision and not is_fresh):
                entry.search = make()
                entry.revision = revision
                entry.made_at = time.monotonic()
            return entry.search

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that is deleted."""
        with self._lock:
            self._entries.pop(run_id, None)
