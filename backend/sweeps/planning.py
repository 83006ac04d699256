"""From a plan to its runs: which there are, what each is called, and whether it can run."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from backend.configs import estimate
from backend.configs import service as configs
from backend.kit.errors import Problem, presentable
from backend.kit.prices import Prices
from backend.projects import choice
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigDraft, EstimateRange, RunEstimate
from bapo.api.sweeps import MAX_SWEEP_RUNS, PlannedRun, SweepPlan, SweepPreview
from bapo.config import ConfigError, ConfigProblem, RunConfig

NAME_CHARACTERS = 200
"""Longest name of a run."""


@dataclass(frozen=True)
class Candidate:
    """A run that the plan would make."""

    name: str
    point: dict[str, Any]
    config: RunConfig | None
    """None where it cannot run."""
    problems: Sequence[ConfigProblem]
    warnings: Sequence[ConfigProblem]


def candidates(session: Session, plan: SweepPlan, project_id: str | None) -> list[Candidate]:
    """Every run of a plan, in its order: the last field of a grid changes fastest.

    Raises Problem 422 for a plan that is none, ConfigError where already the base cannot run.
    """
    configs.check(session, ConfigDraft(recipe=plan.recipe, parent_id=plan.parent_id), project_id)
    points = _points(plan)
    labels = _labels(varied_fields(points))
    return [_candidate(session, plan, point, labels, project_id) for point in points]


def varied_fields(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """All fields that any of the points sets, in the order of their first appearance."""
    return list(dict.fromkeys(field for point in points for field in point))


def _points(plan: SweepPlan) -> list[dict[str, Any]]:
    part = "grid" if plan.grid else "points"
    empty = [field for field, values in plan.grid.items() if not values]
    if empty:
        raise _bad(part, f"{empty[0]} has no value: give at least one, or leave the field out", empty[0])
    number = math.prod(len(values) for values in plan.grid.values()) if plan.grid else len(plan.points)
    if number > MAX_SWEEP_RUNS:
        raise _bad(part, f"these are {number:,} runs: a sweep has at most {MAX_SWEEP_RUNS}", number)
    if plan.grid:
        found = [dict(zip(plan.grid, values, strict=True)) for values in itertools.product(*plan.grid.values())]
    else:
        found = [dict(point) for point in plan.points]
    counts = Counter(json.dumps(point, sort_keys=True) for point in found)
    twice = next((point for point in found if counts[json.dumps(point, sort_keys=True)] > 1), None)
    if twice is not None:
        raise _bad(part, "two runs would set the same: take one away, or give them different seeds", twice)
    return found


def _bad(field: str, remedy: str, value: Any) -> Problem:
    return Problem(422, "invalid_request", remedy, field=field, value=presentable(value))


def _labels(fields: Sequence[str]) -> dict[str, str]:
    """The last part of each field's path where it tells them apart, else the path."""
    last = Counter(field.rpartition(".")[2] for field in fields)
    return {field: name if last[name := field.rpartition(".")[2]] == 1 else field for field in fields}


def _candidate(
    session: Session, plan: SweepPlan, point: dict[str, Any], labels: Mapping[str, str], project_id: str | None
) -> Candidate:
    settings = " ".join(f"{labels[field]}={_short(value)}" for field, value in point.items())
    name = f"{plan.name} · {settings}"[:NAME_CHARACTERS]
    draft = ConfigDraft(recipe=plan.recipe, parent_id=plan.parent_id, changes={**plan.changes, **point})
    try:
        checked = configs.check(session, draft, project_id)
    except ConfigError as error:
        return Candidate(name, point, None, error.problems, ())
    return Candidate(name, point, checked.resolution.config, (), checked.resolution.warnings)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "–".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def preview(session: Session, plan: SweepPlan, prices: Prices) -> SweepPreview:
    """The runs of a plan and what they will take together. Raises as `candidates`."""
    project_id = choice.for_reading(session, plan.project, beside=configs.parent_project(session, plan))
    found = candidates(session, plan, project_id)
    legal = [each.config for each in found if each.config is not None]
    totals = _totals(estimate.estimates(session, legal, prices)) if legal else {}
    return SweepPreview(
        fields=varied_fields([each.point for each in found]),
        runs=[
            PlannedRun(name=each.name, set=each.point, problems=_shown(each.problems), warnings=_shown(each.warnings))
            for each in found
        ],
        num_illegal=len(found) - len(legal),
        currency=prices.currency,
        **totals,
    )


def _shown(problems: Sequence[ConfigProblem]) -> list[FieldProblem]:
    return [
        FieldProblem(field=problem.field, value=presentable(problem.value), remedy=problem.remedy)
        for problem in problems
    ]


def _totals(each: Sequence[RunEstimate]) -> dict[str, EstimateRange | None]:
    """Sums over the runs; None where nobody knows of one of them."""
    return {
        "rollouts": _sum([one.rollouts for one in each]),
        "seconds": _sum([one.seconds for one in each]),
        "compute_hours": _sum([one.compute_hours for one in each]),
        "cost": _sum([one.cost for one in each]),
    }


def _sum(ranges: Sequence[EstimateRange | None]) -> EstimateRange | None:
    known = [each for each in ranges if each is not None]
    if len(known) < len(ranges):
        return None
    return EstimateRange(
        value=sum(each.value for each in known),
        low=sum(each.low for each in known),
        high=sum(each.high for each in known),
    )
