"""SQL of the held-out sets behind the accuracies of the run list: those of different sets have no mean and no order."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func
from sqlalchemy.orm import InstrumentedAttribute

from backend.models import Run
from bapo.rollout import ANSWERS_MARK

EVALUATED = ("eval_base", "eval_latest", "eval_best", "eval_change")
"""Columns of the run list that hold accuracies."""


def held_out_key(
    name: ColumnElement[str | None] | InstrumentedAttribute[str | None],
    problems: ColumnElement[str | None] | InstrumentedAttribute[str | None],
) -> ColumnElement[str | None]:
    """Return one text for each set, k included; NULL without an evaluation.

    Answers do not count, because a run that does not record them would get another key.
    """
    return name + "\n" + func.split_part(func.coalesce(problems, ""), ANSWERS_MARK, 1)


def different_sets() -> ColumnElement[int]:
    """Count the sets that the runs of a query were evaluated on."""
    return func.count(held_out_key(Run.eval_name, Run.eval_problems).distinct())
