"""SQL of the held-out sets behind the accuracies of the run list: those of different sets have no mean and no order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from backend.models import Run, SparseRecord
from bapo.api.runs import METRIC_COLUMN
from bapo.rollout import ANSWERS_MARK

_EVALUATED = ("eval_base", "eval_latest", "eval_best", "eval_change")
_MEASURED = re.compile(rf"{re.escape(METRIC_COLUMN)}val-core/(?P<dataset>.+)/acc/.+")
"""Columns of the run list that hold accuracies: of the run's own held-out set, and metrics of any."""


def held_out_key(
    name: ColumnElement[str | None] | InstrumentedAttribute[str | None],
    problems: ColumnElement[str | None] | InstrumentedAttribute[str | None],
) -> ColumnElement[str | None]:
    """Return one text for each set, k included; NULL without an evaluation.

    Answers do not count, because a run that does not record them would get another key.
    """
    return name + "\n" + func.split_part(func.coalesce(problems, ""), ANSWERS_MARK, 1)


def set_behind(column: str) -> ColumnElement[str | None] | None:
    """Return a text for the held-out set behind a column's accuracy of a run, NULL without one; None for a column that
    holds no accuracies."""
    if column in _EVALUATED:
        return held_out_key(Run.eval_name, Run.eval_problems)
    found = _MEASURED.fullmatch(column)
    if found is None:
        return None
    newest = (
        select(SparseRecord.problems)
        .where(
            SparseRecord.run_id == Run.id,
            SparseRecord.type == "evaluation",
            SparseRecord.identity == found["dataset"],
        )
        .order_by(SparseRecord.step.desc())
        .limit(1)
        .scalar_subquery()
    )
    return func.split_part(newest, ANSWERS_MARK, 1)


def num_sets(session: Session, column: str, conditions: Sequence[ColumnElement[bool]]) -> int:
    """Return on how many held-out sets the accuracies in this column of these runs are; 0 for any other column."""
    key = set_behind(column)
    if key is None:
        return 0
    return session.scalar(select(func.count(key.distinct())).select_from(Run).where(*conditions)) or 0
