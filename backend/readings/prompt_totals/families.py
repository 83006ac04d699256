"""Finds out which steps of a run are copies of an older run's: those of forks, and of runs that are there twice.

Runs that hold copies of one another's steps begin with the same step. Of these the oldest that is counted has a step
as its own, and the others inherit it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import exists, select, tuple_, update
from sqlalchemy.orm import Session

from backend.models import PromptTotals, Run
from backend.models.records import INHERITED_ATTEMPT
from backend.readings.visits.columns import NO_DIGEST, RunColumns


def first_digest(columns: RunColumns) -> int | None:
    """Return the digest that all copies of a run share; None if no step has one."""
    return next((digest for digest in columns.digests.tolist() if digest != NO_DIGEST), None)


def inherited_steps(session: Session, run: Run, columns: RunColumns) -> list[int]:
    """Return the steps of the run that count in an older one."""
    first = first_digest(columns)
    older = set[int]() if first is None else _older(session, run, first)
    # The answers of a parent that is not counted yet will count there.
    waits = _waits_for_parent(session, run)
    return [
        place.step
        for place, digest in zip(columns.steps, columns.digests.tolist(), strict=True)
        if digest in older or (waits and place.attempt == INHERITED_ATTEMPT)
    ]


def _older(session: Session, run: Run, first: int) -> set[int]:
    query = (
        select(PromptTotals.digests)
        .join(Run, Run.id == PromptTotals.run_id)
        .where(
            PromptTotals.project_id == run.project_id,
            PromptTotals.first_digest == first,
            tuple_(Run.created_at, Run.id) < tuple_(run.created_at, run.id),
        )
    )
    return _digests_of(session.scalars(query))


def _digests_of(rows: Iterable[Collection[int]]) -> set[int]:
    return set[int]().union(*rows) - {NO_DIGEST}


def _waits_for_parent(session: Session, run: Run) -> bool:
    query = select(Run.id).where(
        Run.id == run.forked_from,
        Run.project_id == run.project_id,
        Run.trashed_at.is_(None),
        ~exists().where(PromptTotals.run_id == Run.id),
    )
    return run.forked_from is not None and session.scalar(query) is not None


def note_change(session: Session, changed: Collection[tuple[str, int | None]]) -> None:
    """Mark runs for a recount whose own steps have changed: in these projects, with these first steps.

    Between them the runs of a project that begin with one step hold each of their steps as their own once.
    """
    rows = session.execute(
        select(PromptTotals.run_id, PromptTotals.project_id, PromptTotals.digests, PromptTotals.inherited_steps)
        .join(Run, Run.id == PromptTotals.run_id)
        .where(tuple_(PromptTotals.project_id, PromptTotals.first_digest).in_(list(changed)))
        .order_by(Run.created_at, Run.id)
    )
    # Runs that begin with different steps share none.
    seen: set[tuple[str, int]] = set()
    due = []
    for run_id, project_id, digests, inherited in rows:
        known = {(project_id, digest) for digest in digests if digest != NO_DIGEST}
        if len(known & seen) != len(inherited):
            due.append(run_id)
        seen |= known
    if due:
        session.execute(update(PromptTotals).where(PromptTotals.run_id.in_(due)).values(is_due=True))
