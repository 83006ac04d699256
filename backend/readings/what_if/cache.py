"""Caches the recordings that were replayed last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from bapo.analysis.visits import Visits
from bapo.analysis.what_if.recording import Recording

MOST_RUNS = 6
"""A run of 471 steps with 256 prompts takes some 20 MB."""


class _Entry(NamedTuple):
    """A recording, and what it was made from."""

    visits: Visits
    recording: Recording


class RecordingCache:
    """Recordings by run, rebuilt when a run has recorded more."""

    def __init__(self, most_runs: int = MOST_RUNS) -> None:
        self._most_runs = most_runs
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def recording(self, run_id: str, visits: Visits, make: Callable[[], Recording]) -> Recording:
        """The recording of these visits, which are the same object until the run records more."""
        with self._lock:
            entry = self._entries.get(run_id)
            if entry is not None and entry.visits is visits:
                self._entries.move_to_end(run_id)
                return entry.recording
        made = make()
        with self._lock:
            self._entries[run_id] = _Entry(visits, made)
            self._entries.move_to_end(run_id)
            while len(self._entries) > self._most_runs:
                self._entries.popitem(last=False)
        return made

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that is deleted."""
        with self._lock:
            self._entries.pop(run_id, None)
