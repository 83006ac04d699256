"""SQL of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import RunStorage, SparseRecord


class Written(NamedTuple):
    """A checkpoint that a trainer has written."""

    attempt: int
    step: int
    record: dict[str, Any]


def written(session: Session, run_id: str) -> list[Written]:
    """Return all checkpoints in the order in which they were written."""
    query = (
        select(SparseRecord.attempt, SparseRecord.step, SparseRecord.record)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "event")
        .where(SparseRecord.record["event"].astext == "checkpoint")
        # Within an attempt steps only grow.
        .order_by(SparseRecord.attempt, SparseRecord.step)
    )
    return [Written(*row) for row in session.execute(query)]


def evaluations(session: Session, run_id: str, steps: Sequence[int]) -> list[tuple[int, dict[str, Any]]]:
    """Return the evaluations at these steps."""
    query = (
        select(SparseRecord.step, SparseRecord.record)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "evaluation", SparseRecord.step.in_(steps))
        .order_by(SparseRecord.step, SparseRecord.id)
    )
    return [(step, record) for step, record in session.execute(query)]


def storage(session: Session, run_id: str) -> RunStorage | None:
    """Return the measured size of the run's folder."""
    return session.get(RunStorage, run_id)
