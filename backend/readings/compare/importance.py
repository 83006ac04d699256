"""Reads a result of several runs and works out which of their fields it depends on."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from backend.kit.errors import Problem
from backend.models import Run
from backend.readings.compare.service import Chosen
from backend.runs import columns
from backend.runs.held_out import held_out_key
from bapo.analysis.comparison import differences, is_material, seed_in
from bapo.analysis.importance import importance
from bapo.api.compare import ParameterImportance, VariedRun

DEFAULT_METRIC = "eval_latest"
_EVALUATED = ("eval_latest", "eval_best", "eval_change")
"""Results of the run's main evaluation, which need not be the same for all runs."""
_HELD_OUT = held_out_key(Run.eval_name, Run.eval_problems)


class Varied(NamedTuple):
    """A run and what sets it apart."""

    run_id: str
    point: Mapping[str, Any]
    """The varied fields, without the seed."""
    seed: int | None


def varied_by(chosen: Chosen) -> list[Varied]:
    """Return the runs with the config fields in which they differ, steered changes included."""
    configs = [run.config for run in chosen.runs]
    fields = [each for each in differences(configs) if is_material(each.field)]
    return [
        Varied(
            row.run.id,
            {each.field: each.values[place] for each in fields if each.known[place]},
            seed_in(configs[place]),
        )
        for place, row in enumerate(chosen.rows)
    ]


def describe(session: Session, runs: Sequence[Varied], metric: str) -> ParameterImportance:
    """Return the runs with their fields and results, and how much of the variance each field explains.

    Raises Problem 422 for a metric that is no number.
    """
    column = columns.column(metric, "metric")
    if column.kind not in ("number", "json"):
        remedy = "this column holds no numbers: name one that does, such as eval_latest or metric.actor/entropy"
        raise Problem(422, "invalid_request", remedy, field="metric", value=metric)
    query = select(Run.id, Run.name, _HELD_OUT, Run.eval_step, column.expression)
    rows = {row[0]: row for row in session.execute(query.where(Run.id.in_([run.run_id for run in runs])))}
    sets = Counter(row[2] for row in rows.values() if row[2] is not None and row[3])
    evaluation = sets.most_common(1)[0][0] if sets and metric in _EVALUATED else None
    found = []
    for run in runs:
        if run.run_id not in rows:
            continue
        _, name, held_out, eval_step, value = rows[run.run_id]
        # The base model's evaluation is no result, nor is another test set's.
        is_result = metric not in _EVALUATED or (held_out == evaluation and bool(eval_step))
        result = _number(value) if is_result else None
        found.append(VariedRun(run_id=run.run_id, name=name, seed=run.seed, set=dict(run.point), result=result))
    known = [run for run in found if run.result is not None]
    return ParameterImportance(
        metric=metric,
        eval_name=None if evaluation is None else evaluation.partition("\n")[0],
        fields=_varying(found),
        runs=found,
        importance=importance(
            [run.set for run in known], [float(run.result or 0.0) for run in known], [run.seed for run in known]
        ),
    )


def _varying(runs: Sequence[VariedRun]) -> list[str]:
    """Return the fields in which the runs differ."""
    fields = dict.fromkeys(field for run in runs for field in run.set)
    return [field for field in fields if len({json.dumps(run.set.get(field), default=str) for run in runs}) > 1]


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None
