"""SQL of the tracked prompts' samplings."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.models import SparseRecord
from bapo.analysis.accuracy_transitions import Sampling

BASE, BASE_AGAIN = "0", "1"
"""Replicates: the first sampling at a step, and the second one of the base model."""


def tracked_steps(session: Session, run_id: str) -> list[int]:
    """Return the steps at which the prompts were sampled."""
    query = (
        select(SparseRecord.step)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "tracking", SparseRecord.identity == BASE)
        .order_by(SparseRecord.step)
    )
    return list(session.scalars(query))


def samplings(session: Session, run_id: str, steps: Collection[int]) -> dict[int, Sampling]:
    """Return the samplings at these steps."""
    query = select(SparseRecord.step, SparseRecord.record["prompt_ids"], SparseRecord.record["num_correct"]).where(
        SparseRecord.run_id == run_id,
        SparseRecord.type == "tracking",
        SparseRecord.step.in_(steps),
        SparseRecord.identity == BASE,
    )
    return {step: Sampling(prompt_ids, num_correct) for step, prompt_ids, num_correct in session.execute(query)}


def base_samplings(session: Session, run_id: str) -> tuple[Sampling, Sampling] | None:
    """Return the two samplings of the base model; None where it was not sampled twice."""
    query = (
        select(SparseRecord.record["prompt_ids"], SparseRecord.record["num_correct"])
        .where(
            SparseRecord.run_id == run_id,
            SparseRecord.type == "tracking",
            SparseRecord.step == 0,
            SparseRecord.identity.in_((BASE, BASE_AGAIN)),
        )
        .order_by(SparseRecord.identity)
    )
    found = [Sampling(prompt_ids, num_correct) for prompt_ids, num_correct in session.execute(query)]
    return (found[0], found[1]) if len(found) == 2 else None
