"""Reads the visits behind the pages on prompts, difficulty and what-if."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.kit.context import Context
from backend.models import Run
from backend.readings.visits.cache import VisitCache
from backend.readings.visits.columns import RunColumns
from bapo.analysis.visits import Visits
from bapo.config.sections import group_size_of


def visits_of_run(session: Session, context: Context, run: Run) -> Visits:
    """Return all stored visits of the run's prompts; of repeated steps, those of the latest attempt.

    Kept in the process: a call costs a query over a few rows as long as nothing was added, afterwards a reading of the
    new steps only. The arrays belong to all requests and cannot be written to; the same object comes back as long as
    the run has recorded nothing more.
    """
    return context.part(VisitCache).visits(session, run.id, group_size_of(run.config))


def columns_of_run(session: Session, context: Context, run: Run) -> RunColumns:
    """Return the same visits as `visits_of_run`, with the steps that recorded them."""
    return context.part(VisitCache).columns(session, run.id, group_size_of(run.config))
