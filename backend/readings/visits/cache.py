"""Caches the visits of the runs read last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from backend.kit.response_cache import revisions
from backend.readings.visits import repository
from backend.readings.visits.columns import RunColumns, extended, no_steps, up_to
from bapo.analysis.visits import Visits

MAX_BYTES = 256 * 1024**2
"""Of all runs together: some twelve million visits."""


@dataclass
class _Entry:
    """A run's visits, and the revision they were read at. Its lock makes requests for the run wait for one reading."""

    columns: RunColumns
    revision: int = -1
    lock: threading.Lock = field(default_factory=threading.Lock)


class VisitCache:
    """Visits by run; the least recently used are dropped beyond `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def visits(self, session: Session, run_id: str, group_size: int) -> Visits:
        """All that is stored of the run by now; the same object as long as nothing was added."""
        with self._lock:
            entry = self._entries.setdefault(run_id, _Entry(no_steps(group_size)))
            self._entries.move_to_end(run_id)
        with entry.lock:
            # Read first: what is stored meanwhile is read again by the next request rather than missed.
            (revision,) = revisions(session, [run_id])
            if revision != entry.revision:
                entry.columns = _current(session, run_id, entry.columns)
                entry.revision = revision
            visits = entry.columns.visits
        self._forget_oldest()
        return visits

    def forget(self, run_id: str) -> None:
        """Keep nothing of a run that is deleted."""
        with self._lock:
            self._entries.pop(run_id, None)

    def _forget_oldest(self) -> None:
        with self._lock:
            sizes = {run_id: entry.columns.num_bytes for run_id, entry in self._entries.items()}
            excess = sum(sizes.values()) - self._max_bytes
            for run_id, size in sizes.items():
                if excess <= 0:
                    break
                del self._entries[run_id]
                excess -= size


def _current(session: Session, run_id: str, known: RunColumns) -> RunColumns:
    """The stored visits; known ones are kept up to the first step recorded by another attempt."""
    stored = repository.steps(session, run_id)
    num_equal = next(
        (index for index, (old, new) in enumerate(zip(known.steps, stored, strict=False)) if old != new),
        min(len(known.steps), len(stored)),
    )
    kept = up_to(known, num_equal)
    if num_equal == len(stored):
        return kept
    return extended(kept, repository.visits_from(session, run_id, stored[num_equal].step))
