"""SQL of visits, which are packed in the rows of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import StepRow

_STEPS_AT_ONCE = 500


class StepOf(NamedTuple):
    """A step as an attempt recorded it: what it says never changes."""

    step: int
    attempt: int


class StepVisits(NamedTuple):
    """The visits of a step."""

    place: StepOf
    unix_time: float | None
    prompt_ids: Sequence[str]
    sources: Sequence[str]
    num_correct: Sequence[int]
    policy_versions: Sequence[int | None]
    in_batch: Sequence[bool]


def steps(session: Session, run_id: str) -> list[StepOf]:
    """Return the steps that are stored, in their order."""
    query = select(StepRow.step, StepRow.attempt).where(StepRow.run_id == run_id).order_by(StepRow.step)
    return [StepOf(step, attempt) for step, attempt in session.execute(query)]


def visits_from(session: Session, run_id: str, step: int) -> Iterator[Sequence[StepVisits]]:
    """Yield the visits of this step and all later ones, some hundred steps at a time."""
    query = (
        select(StepRow.step, StepRow.attempt, StepRow.unix_time, StepRow.visits)
        .where(StepRow.run_id == run_id, StepRow.step >= step)
        .order_by(StepRow.step)
        .execution_options(yield_per=_STEPS_AT_ONCE)
    )
    for rows in session.execute(query).partitions():
        yield [StepVisits(StepOf(step, attempt), at, *visits[:-1]) for step, attempt, at, visits in rows]
