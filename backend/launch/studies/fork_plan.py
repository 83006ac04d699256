"""The plan of a fork experiment: the checkpoints that it begins with, and a run of every arm from each of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from backend.launch.configs import service as configs
from backend.launch.studies.candidates import (
    NAME_CHARACTERS,
    Candidate,
    Plan,
    bad_plan,
    labels_of,
    points_of,
    settings_text,
    varied_fields,
)
from backend.models import Run
from backend.runs import repository as runs
from backend.runs.checkpoints import service as checkpoints
from bapo.analysis.comparison import flattened, seed_in
from bapo.api.configs import ConfigDraft
from bapo.api.studies import MAX_GRID_RUNS, ForkedFrom, StudyWrite
from bapo.config import ConfigError, ConfigProblem

FIELD = "checkpoints"
UNCHANGED = "unchanged"
LENGTH_FIELDS = ("training.steps", "training.epochs")
"""Fields set by the number of further steps, for all arms."""


def parents(session: Session, asked: StudyWrite) -> dict[str, Run]:
    """Return the runs whose checkpoints are asked for, by identifier; none for another study.

    Raises Problem 404 for an unknown one, ConfigError where they are of several projects.
    """
    found = {each.run_id: runs.get(session, each.run_id) for each in asked.checkpoints}
    projects = {run.project_id for run in found.values()}
    if len(projects) > 1:
        remedy = "these runs are of several projects: an experiment stays within one"
        raise ConfigError([ConfigProblem(FIELD, ", ".join(found), remedy)])
    return found


def origins(session: Session, asked: StudyWrite) -> list[ForkedFrom]:
    """Return each checkpoint, in the order given. Raises ConfigError naming those that are not kept, or come twice."""
    found = parents(session, asked)
    kept = {run_id: [each.step for each in checkpoints.kept(session, run)] for run_id, run in found.items()}
    problems = []
    places = [(each.run_id, each.step) for each in asked.checkpoints]
    for run_id, step in dict.fromkeys(places):
        if step not in kept[run_id]:
            there_are = ", ".join(map(str, kept[run_id])) or "none"
            remedy = f"run {run_id} has no checkpoint of step {step}: it has {there_are}"
            problems.append(ConfigProblem(FIELD, f"{run_id}:{step}", remedy))
        elif places.count((run_id, step)) > 1:
            remedy = "the same checkpoint twice repeats nothing: its runs would be equal, record for record"
            problems.append(ConfigProblem(FIELD, f"{run_id}:{step}", remedy))
    if problems:
        raise ConfigError(problems)
    return [
        ForkedFrom(
            run_id=run_id,
            run_name=found[run_id].name,
            step=step,
            seed=seed_in(flattened(found[run_id].config)),
            num_steps=found[run_id].num_steps,
        )
        for run_id, step in places
    ]


def overlaps(origins: Sequence[ForkedFrom], further_steps: int) -> list[ConfigProblem]:
    """Return a warning for each two checkpoints of one run that are nearer than the arms are long."""
    found = []
    ordered = sorted(origins, key=lambda each: (each.run_id, each.step))
    for first, second in itertools.pairwise(ordered):
        if first.run_id == second.run_id and second.step - first.step < further_steps:
            remedy = (
                f"steps {first.step} and {second.step} of “{first.run_name}” are nearer than {further_steps:,} steps: "
                "from both, runs train on the same fresh prompts with the same draws for a while, so that they count "
                "for less than two replicates"
            )
            found.append(ConfigProblem(FIELD, [first.step, second.step], remedy))
    return found


def plan_of(session: Session, asked: StudyWrite, name: str, project_id: str | None) -> Plan:
    """Return the runs of an experiment: from each checkpoint, every arm. Raises ConfigError where it cannot be made."""
    points = points_of(asked)
    if asked.with_unchanged:
        points = [{}, *filter(None, points)]
    begun = origins(session, asked)
    part = "grid" if asked.grid else "points"
    if len(points) * len(begun) > MAX_GRID_RUNS:
        number = len(points) * len(begun)
        remedy = f"these are {number:,} runs: an experiment has at most {MAX_GRID_RUNS}, arms times checkpoints"
        raise bad_plan(part, remedy, number)
    if len(points) == 1:
        raise bad_plan(
            part, "one arm alone is compared with nothing: add another, or keep the unchanged one", points[0]
        )
    assert asked.further_steps is not None, "a fork experiment says how long it is"
    runs = [run for origin in begun for run in _arms(session, asked, points, origin, project_id, len(begun))]
    numbered = [replace(run, name=f"run-{number}") for number, run in enumerate(runs, start=1)]
    warnings = overlaps(begun, asked.further_steps)
    return Plan(name, None, None, asked.changes, numbered, origins=begun, warnings=warnings)


def _arms(
    session: Session,
    asked: StudyWrite,
    points: Sequence[dict[str, Any]],
    origin: ForkedFrom,
    project_id: str | None,
    num_origins: int,
) -> list[Candidate]:
    """Return the runs from one checkpoint; an arm that comes to the same config as one before it has a problem."""
    labels = labels_of(varied_fields(points))
    where = f" · from step {origin.step} of {origin.run_name[:60]}" if num_origins > 1 else ""
    found: list[Candidate] = []
    for point in points:
        settings = settings_text(point, labels) or UNCHANGED
        head = f"{asked.name} · {settings}"[: NAME_CHARACTERS - len(where)]
        each = _arm(session, Candidate("", head + where, point, point, origin=origin), asked, project_id)
        same = next((other for other in found if each.config is not None and other.config == each.config), None)
        if same is not None:
            field, value = next(iter(point.items()), ("points", point))
            name = settings_text(same.point, labels) or UNCHANGED
            remedy = (
                f"at step {origin.step} this is the same as the arm {name}: change another value, or leave the arm out"
            )
            each = replace(each, config=None, problems=[ConfigProblem(field, value, remedy)])
        found.append(each)
    return found


def _arm(session: Session, run: Candidate, asked: StudyWrite, project_id: str | None) -> Candidate:
    assert run.origin is not None, "the run is a fork"
    assert asked.further_steps is not None, "a fork experiment says how long it is"
    length = {"training.steps": run.origin.step + asked.further_steps, "training.epochs": None}
    own = {**asked.changes, **run.point}
    given = [field for field in LENGTH_FIELDS if field in own]
    if given:
        remedy = "all arms train further_steps after their checkpoint: leave this field out"
        return replace(run, problems=[ConfigProblem(field, own[field], remedy) for field in given])
    draft = ConfigDraft(parent_id=run.origin.run_id, changes={**own, **length})
    try:
        parent = runs.get(session, run.origin.run_id)
        config = configs.check(session, draft, parent, project_id, fork_step=run.origin.step).resolved.config
    except ConfigError as error:
        problems = [
            ConfigProblem("further_steps", asked.further_steps, each.remedy) if each.field in length else each
            for each in error.problems
        ]
        return replace(run, problems=problems)
    changes = {**run.changes, **length}
    return replace(run, changes=changes, config=config)
