"""Finds the best evaluation of a run."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Text, cast, func, select
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION
from sqlalchemy.orm import Session

from backend.models import SparseRecord


class Best(NamedTuple):
    """A value and where it was first reached."""

    value: float | None
    step: int | None


def best_evaluation(session: Session, run_id: str, name: str) -> Best:
    """Return the best of the run's evaluations of this name, such as "CD-34 avg@8"; the earliest of equals."""
    value = cast(SparseRecord.record[("avg_at_k", "value")].astext, DOUBLE_PRECISION)
    evaluation_name = func.concat(SparseRecord.identity, " avg@", cast(SparseRecord.record["num_samples"].astext, Text))
    query = (
        select(value, SparseRecord.step)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "evaluation", evaluation_name == name)
        .order_by(value.desc().nulls_last(), SparseRecord.step)
        .limit(1)
    )
    found = session.execute(query).one_or_none()
    return Best(None, None) if found is None or found[0] is None else Best(*found)
