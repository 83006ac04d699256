"""From a request to the runs that it asks for: which they are, what each is called, and whether it can run."""

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
from backend.kit.errors import field_problems
from backend.kit.prices import Prices
from backend.projects import choice
from backend.studies.power import power_shown
from bapo.api.configs import ConfigDraft, EstimateRange, RunEstimate
from bapo.api.studies import MAX_GRID_RUNS, PlannedStudyRun, StudyPreview, StudyWrite
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.study.declaration import Declaration
from bapo.study.examination import checked, examine
from bapo.study.plan import PlannedRun, final_runs, resolved, tuning_runs
from bapo.study.report import arms_of, primary_words

NAME_CHARACTERS = 200
"""Longest name of a run."""


@dataclass(frozen=True)
class Candidate:
    """A run that a study would make."""

    name: str
    """Unique in the study."""
    run_name: str
    point: Mapping[str, Any]
    """The fields that set it apart."""
    changes: Mapping[str, Any]
    """All fields that it sets on top of the plan's base."""
    config: RunConfig | None = None
    """None where it cannot run, and for a declared run, which is checked with its study."""
    problems: Sequence[ConfigProblem] = ()
    warnings: Sequence[ConfigProblem] = ()


@dataclass(frozen=True)
class Plan:
    """A study that can be made unless one of its runs has a problem."""

    title: str
    recipe: str | None
    parent_id: str | None
    base: Mapping[str, Any]
    """Fields that all runs of a grid or list set."""
    runs: Sequence[Candidate]
    """In their order: the last field of a grid changes fastest."""
    declaration: Declaration | None = None
    """None for a grid or a list of runs."""
    warnings: Sequence[ConfigProblem] = ()

    @property
    def fields(self) -> list[str]:
        """The fields that a grid or list varies, in the order of their first appearance."""
        return [] if self.declaration else varied_fields([run.point for run in self.runs])

    @property
    def first_runs(self) -> Sequence[Candidate]:
        """The runs that can be submitted at once: all, or those that tune."""
        tuning = self.declaration.num_tuning_runs if self.declaration else 0
        return self.runs[:tuning] if tuning else self.runs


def plan_of(session: Session, asked: StudyWrite, project_id: str | None) -> Plan:
    """The plan of a study file, a grid or a list.

    Raises ConfigError where the study as a whole cannot be made, Problem 404 for an unknown parent.
    """
    if asked.text is not None:
        study, warnings = checked(asked.text)
        runs = declared(study, [*tuning_runs(study), *final_runs(study, {})])
        return Plan(study.title, study.recipe, None, {}, runs, study, warnings)
    assert asked.name is not None, "the body has a text or a name"
    configs.check(session, ConfigDraft(recipe=asked.recipe, parent_id=asked.parent_id), project_id)
    points = _points(asked)
    labels = _labels(varied_fields(points))
    runs = [
        _candidate(session, asked, point, f"run-{number}", labels, project_id)
        for number, point in enumerate(points, start=1)
    ]
    return Plan(asked.name, asked.recipe, asked.parent_id, asked.changes, runs)


# ---------------------------------------------------------------- runs of a study file


def declared(study: Declaration, planned: Sequence[PlannedRun]) -> list[Candidate]:
    """Runs of a study file."""
    return [
        Candidate(run.name, _declared_name(study, run), run.point, {**study.config, **run.changes}) for run in planned
    ]


def _declared_name(study: Declaration, run: PlannedRun) -> str:
    regime = f" · {run.regime}" if len(study.regimes) > 1 else ""
    tuning = " · tuning " + ", ".join(f"{field}={value}" for field, value in run.point.items())
    kind = tuning if run.stage == "tuning" else ""
    tail = f"{regime} · {run.arm}{kind} · seed {run.seed}"
    return f"{study.title[: NAME_CHARACTERS - len(tail)]}{tail}"[:NAME_CHARACTERS]


# ---------------------------------------------------------------- runs of a grid or list


def varied_fields(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """All fields that any of the points sets, in the order of their first appearance."""
    return list(dict.fromkeys(field for point in points for field in point))


def _points(asked: StudyWrite) -> list[dict[str, Any]]:
    part = "grid" if asked.grid else "points"
    empty = [field for field, values in asked.grid.items() if not values]
    if empty:
        raise _bad(part, f"{empty[0]} has no value: give at least one, or leave the field out", empty[0])
    number = math.prod(len(values) for values in asked.grid.values()) if asked.grid else len(asked.points)
    if number > MAX_GRID_RUNS:
        raise _bad(part, f"these are {number:,} runs: a grid or list has at most {MAX_GRID_RUNS}", number)
    if asked.grid:
        found = [dict(zip(asked.grid, values, strict=True)) for values in itertools.product(*asked.grid.values())]
    else:
        found = [dict(point) for point in asked.points]
    counts = Counter(json.dumps(point, sort_keys=True) for point in found)
    twice = next((point for point in found if counts[json.dumps(point, sort_keys=True)] > 1), None)
    if twice is not None:
        raise _bad(part, "two runs would set the same: remove one, or give them different seeds", twice)
    return found


def _bad(field: str, remedy: str, value: Any) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])


def _labels(fields: Sequence[str]) -> dict[str, str]:
    """The last part of each field's path where it tells them apart, else the path."""
    last = Counter(field.rpartition(".")[2] for field in fields)
    return {field: name if last[name := field.rpartition(".")[2]] == 1 else field for field in fields}


def _candidate(
    session: Session,
    asked: StudyWrite,
    point: dict[str, Any],
    name: str,
    labels: Mapping[str, str],
    project_id: str | None,
) -> Candidate:
    settings = " ".join(f"{labels[field]}={_short(value)}" for field, value in point.items())
    run_name = f"{asked.name} · {settings}"[:NAME_CHARACTERS]
    draft = ConfigDraft(recipe=asked.recipe, parent_id=asked.parent_id, changes={**asked.changes, **point})
    try:
        resolution = configs.check(session, draft, project_id).resolution
    except ConfigError as error:
        return Candidate(name, run_name, point, point, problems=error.problems)
    return Candidate(name, run_name, point, point, resolution.config, warnings=resolution.warnings)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "–".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- preview


def preview(session: Session, asked: StudyWrite, prices: Prices) -> StudyPreview:
    """The runs of a study, what is wrong with them and what they cost together; makes nothing.

    Raises Problem 404 for an unknown parent, 422 for an unknown project.
    """
    project_id = choice.for_reading(session, asked.project, beside=configs.parent_project(session, asked))
    power = None if asked.text is None else power_shown(session, examine(asked.text), project_id)
    try:
        plan = plan_of(session, asked, project_id)
    except ConfigError as error:
        return StudyPreview(problems=field_problems(error.problems), currency=prices.currency, power=power)
    study = plan.declaration
    legal = [run.config for run in plan.runs if run.config is not None]
    declaration: dict[str, Any] = {}
    if study is not None:
        legal = [resolved(study, run).config for run in (*tuning_runs(study), *final_runs(study, {}))]
        declaration = {
            "question": study.question,
            "primary": primary_words(study),
            "arms": arms_of(study),
            "regimes": [regime.name for regime in study.regimes],
            "seeds": study.seeds,
            "test_sets": study.test_sets,
            "digest": study.digest,
            "num_tuning_runs": study.num_tuning_runs,
        }
    return StudyPreview(
        problems=[],
        warnings=field_problems(plan.warnings),
        title=plan.title,
        fields=plan.fields,
        runs=[
            PlannedStudyRun(
                name=run.run_name,
                set=dict(run.point),
                problems=field_problems(run.problems),
                warnings=field_problems(run.warnings),
            )
            for run in plan.runs
        ],
        num_runs=len(plan.runs),
        num_illegal=sum(bool(run.problems) for run in plan.runs),
        currency=prices.currency,
        power=power,
        **declaration,
        **_totals(estimate.estimates(session, legal, prices)),
    )


def _totals(each: Sequence[RunEstimate]) -> dict[str, EstimateRange | None]:
    """Sums over the runs; None where one of them cannot be estimated."""
    return {
        field: _sum([getattr(one, field) for one in each]) for field in ("rollouts", "seconds", "compute_hours", "cost")
    }


def _sum(ranges: Sequence[EstimateRange | None]) -> EstimateRange | None:
    known = [each for each in ranges if each is not None]
    if not known or len(known) < len(ranges):
        return None
    return EstimateRange(
        value=sum(each.value for each in known),
        low=sum(each.low for each in known),
        high=sum(each.high for each in known),
    )
