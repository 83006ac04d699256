"""Caches the visits of the runs read last."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.response_cache import revisions
from backend.kit.revision_cache import RevisionCache
from backend.readings.visits import repository
from backend.readings.visits.columns import RunColumns, extended, no_steps, up_to
from bapo.analysis.visits import Visits

MAX_BYTES = 256 * 1024**2
"""Maximum size of the visits of all runs together: some twelve million visits."""


class VisitCache(RevisionCache[str, RunColumns]):
    """Visits by run."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(max_bytes, lambda columns: columns.num_bytes)

    def visits(self, session: Session, run_id: str, group_size: int) -> Visits:
        """Return all stored visits of the run; the same object until the run records more."""
        return self.columns(session, run_id, group_size).visits

    def columns(self, session: Session, run_id: str, group_size: int) -> RunColumns:
        """Return the same visits with the steps that recorded them."""
        return self.get(
            run_id,
            lambda: revisions(session, [run_id]),
            lambda known: _current(session, run_id, known or no_steps(group_size)),
        )


def _current(session: Session, run_id: str, known: RunColumns) -> RunColumns:
    """Return the stored visits; known ones are kept up to the first step recorded by another attempt."""
    stored = repository.steps(session, run_id)
    num_equal = next(
        (index for index, (old, new) in enumerate(zip(known.steps, stored, strict=False)) if old != new),
        min(len(known.steps), len(stored)),
    )
    kept = up_to(known, num_equal)
    if num_equal == len(stored):
        return kept
    return extended(kept, repository.visits_from(session, run_id, stored[num_equal].step))
