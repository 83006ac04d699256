"""Finds the best evaluation of a run."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Text, and_, cast, func, select, true
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Session

from backend.models import SparseRecord
from bapo.rollout import ANSWERS_MARK


class Best(NamedTuple):
    """A value and where it was first reached."""

    value: float | None
    step: int | None


def best_evaluation(session: Session, run_id: str, name: str, problems: str | None) -> Best:
    """Return the run's best evaluation of a name, such as "CD-34 avg@8", on these problems; of ties the earliest.

    `problems`: their digest; `None` for any.
    """
    value = cast(SparseRecord.record[("avg_at_k", "value")].astext, DOUBLE_PRECISION)
    evaluation_name = func.concat(SparseRecord.identity, " avg@", cast(SparseRecord.record["num_samples"].astext, Text))
    query = (
        select(value, SparseRecord.step)
        .where(
            SparseRecord.run_id == run_id,
            SparseRecord.type == "evaluation",
            evaluation_name == name,
            true() if problems is None else _are(problems),
        )
        .order_by(value.desc().nulls_last(), SparseRecord.step)
        .limit(1)
    )
    found = session.execute(query).one_or_none()
    return Best(None, None) if found is None or found[0] is None else Best(*found)


def _are(problems: str) -> ColumnElement[bool]:
    """Match like `bapo.rollout.same_problems`."""
    prompts, _, answers = problems.partition(ANSWERS_MARK)
    has_prompts = func.split_part(SparseRecord.problems, ANSWERS_MARK, 1) == prompts
    return (
        and_(has_prompts, func.split_part(SparseRecord.problems, ANSWERS_MARK, 2).in_(["", answers]))
        if answers
        else (has_prompts)
    )
