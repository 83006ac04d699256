"""From a request to the runs that it asks for: which they are, what each is called, and whether it can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from backend.identity.projects import choice
from backend.kit.errors import field_problems
from backend.launch.configs import estimate
from backend.launch.configs import service as configs
from backend.launch.studies import fork_plan
from backend.launch.studies.candidates import (
    NAME_CHARACTERS,
    Candidate,
    Plan,
    labels_of,
    points_of,
    settings_text,
    varied_fields,
)
from backend.launch.studies.power import power_shown
from backend.models import Run
from backend.prices.hours import Prices
from backend.runs import repository
from bapo.api.configs import ConfigDraft, EstimateRange, RunEstimate
from bapo.api.studies import PlannedStudyRun, StudyPreview, StudyWrite
from bapo.config import ConfigError
from bapo.study.declaration import Declaration
from bapo.study.examination import checked, examine
from bapo.study.plan import PlannedRun, final_runs, resolved, tuning_runs
from bapo.study.report import arms_of, primary_words


def parent_project(session: Session, asked: StudyWrite) -> str | None:
    """Return the project of the runs that a study starts from, where there are some. Raises Problem 404 for an unknown
    one."""
    parent = next(iter(fork_plan.parents(session, asked).values()), None) or repository.parent_of(session, asked)
    return None if parent is None else parent.project_id


def plan_of(session: Session, asked: StudyWrite, project_id: str | None) -> Plan:
    """Return the plan of a study file, a grid, a list or a fork experiment.

    Raises ConfigError where the study as a whole cannot be made, Problem 404 for an unknown parent.
    """
    if asked.text is not None:
        study, warnings = checked(asked.text)
        runs = declared(study, [*tuning_runs(study), *final_runs(study, {})])
        return Plan(study.title, study.recipe, None, {}, runs, study, warnings=warnings)
    assert asked.name is not None, "the body has a text or a name"
    if asked.checkpoints:
        return fork_plan.plan_of(session, asked, asked.name, project_id)
    parent = repository.parent_of(session, asked)
    configs.check(session, ConfigDraft(recipe=asked.recipe, parent_id=asked.parent_id), parent, project_id)
    points = points_of(asked)
    labels = labels_of(varied_fields(points))
    runs = [
        _candidate(session, asked, parent, point, f"run-{number}", labels, project_id)
        for number, point in enumerate(points, start=1)
    ]
    return Plan(asked.name, asked.recipe, asked.parent_id, asked.changes, runs)


# ---------------------------------------------------------------- runs of a study file


def declared(study: Declaration, planned: Sequence[PlannedRun]) -> list[Candidate]:
    """Return the runs of a study file."""
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


def _candidate(
    session: Session,
    asked: StudyWrite,
    parent: Run | None,
    point: dict[str, Any],
    name: str,
    labels: Mapping[str, str],
    project_id: str | None,
) -> Candidate:
    run_name = f"{asked.name} · {settings_text(point, labels)}"[:NAME_CHARACTERS]
    draft = ConfigDraft(recipe=asked.recipe, parent_id=asked.parent_id, changes={**asked.changes, **point})
    try:
        config = configs.check(session, draft, parent, project_id).resolved.config
    except ConfigError as error:
        return Candidate(name, run_name, point, point, problems=error.problems)
    return Candidate(name, run_name, point, point, config)


# ---------------------------------------------------------------- preview


def preview(session: Session, asked: StudyWrite, prices: Prices) -> StudyPreview:
    """Return the runs of a study, what is wrong with them and what they cost together; makes nothing.

    Raises Problem 404 for an unknown parent, 422 for an unknown project.
    """
    power = None
    try:
        project_id = choice.for_reading(session, asked.project, beside=parent_project(session, asked))
        if asked.text is not None:
            power = power_shown(session, examine(asked.text), project_id)
        plan = plan_of(session, asked, project_id)
    except ConfigError as error:
        return StudyPreview(problems=field_problems(error.problems), currency=prices.currency, power=power)
    study = plan.declaration
    legal = [run.config for run in plan.runs if run.config is not None]
    begun = [0 if run.origin is None else run.origin.step for run in plan.runs if run.config is not None]
    declaration: dict[str, Any] = {}
    if study is not None:
        legal = [resolved(study, run) for run in (*tuning_runs(study), *final_runs(study, {}))]
        begun = [0] * len(legal)
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
                warnings=field_problems([] if run.config is None else run.config.warnings),
            )
            for run in plan.runs
        ],
        num_runs=len(plan.runs),
        num_illegal=sum(bool(run.problems) for run in plan.runs),
        currency=prices.currency,
        power=power,
        **declaration,
        **_totals(estimate.estimates(session, legal, prices, begun)),
    )


def _totals(each: Sequence[RunEstimate]) -> dict[str, EstimateRange | None]:
    """Return the sums over the runs; `None` if one of them cannot be estimated."""
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
