"""Resolves a recipe or a parent run, with changes, to a validated config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from backend.files.resources import references
from backend.fleet.queue.matching import why_never
from backend.kit.errors import field_problems
from backend.launch.configs.theory import constants, threshold_map
from backend.models import Run
from backend.readings.prompt_lists import references as prompt_lists
from backend.runs import repository
from backend.runs.checkpoints import service as checkpoints
from backend.workers.repository import machines
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigDraft, ConfigReport
from bapo.config import ConfigError, ConfigProblem, Resolution, RunConfig, apply_changes, resolve
from bapo.config.recipes import Recipe, shipped_recipes
from bapo.config.resolve import ExplicitConfig, difference, flatten
from bapo.run.fork import fork_problems


@dataclass(frozen=True)
class CheckedDraft:
    """A config that can run, and what it came from."""

    resolution: Resolution
    recipe: str | None
    parent_id: str | None
    diff: dict[str, tuple[Any, Any]]


def recipe(name: str) -> Recipe:
    """Return a shipped recipe. Raises ConfigError; a path is never opened here."""
    for each in shipped_recipes():
        if each.name == name:
            return each
    names = ", ".join(each.name for each in shipped_recipes())
    raise ConfigError([ConfigProblem("recipe", name, f"no such recipe: take one of {names}")])


def parent_project(session: Session, draft: ConfigDraft) -> str | None:
    """Return the project of the parent, where there is one. Raises Problem 404 for an unknown parent."""
    # Both a recipe and a parent are refused by `check`.
    if draft.parent_id is None or draft.recipe is not None:
        return None
    return repository.get(session, draft.parent_id).project_id


def check(
    session: Session, draft: ConfigDraft, project_id: str | None, *, fork_step: int | None = None
) -> CheckedDraft:
    """Resolve a draft in the light of a project; with `fork_step`, of a fork of the parent's checkpoint of that step.

    Raises ConfigError with every problem, Problem 404 for an unknown parent or a checkpoint that it does not keep.
    """
    explicit: ExplicitConfig = {}
    recipe_name = draft.recipe
    if draft.parent_id is not None:
        if draft.recipe is not None:
            remedy = "give either a recipe or a parent run, not both"
            raise ConfigError([ConfigProblem("recipe", draft.recipe, remedy)])
        parent = repository.get(session, draft.parent_id)
        explicit, recipe_name = parent.explicit, parent.recipe
        if fork_step is not None:
            checkpoints.find(session, parent, fork_step)
            explicit = _config_in_force(session, parent, fork_step)
    elif draft.recipe is not None:
        explicit = recipe(draft.recipe).explicit
    resolution = _resolution(session, apply_changes(explicit, draft.changes), project_id)
    base = RunConfig.model_validate(explicit)
    if draft.parent_id is not None and fork_step is not None:
        problems = fork_problems(resolution.config, base, fork_step)
        if problems:
            raise ConfigError(problems)
    diff = difference(resolution.config, base)
    return CheckedDraft(resolution, recipe_name, draft.parent_id, diff)


def _resolution(session: Session, explicit: ExplicitConfig, project_id: str | None) -> Resolution:
    """Return the config with paths in place of names, and the version of its prompt list.

    Raises ConfigError with what is wrong with paths and anything else.
    """
    named, problems = references.resolved(session, explicit, project_id)
    named, of_lists = prompt_lists.pinned(session, named, project_id)
    problems += of_lists
    try:
        resolution = resolve(named)
    except ConfigError as error:
        of_paths = {problem.field for problem in problems}
        raise ConfigError([*problems, *(each for each in error.problems if each.field not in of_paths)]) from None
    problems += references.context_problems(session, resolution.config)
    if problems:
        raise ConfigError(problems)
    return resolution


def _config_in_force(session: Session, run: Run, step: int) -> ExplicitConfig:
    """Return the run's config with the changes in its checkpoint of `step` completed steps."""
    explicit: ExplicitConfig = run.explicit
    for change in repository.applied_changes(session, [run.id])[run.id]:
        if change.step <= step:
            explicit = apply_changes(explicit, change.set)
    return explicit


def _capacity_warnings(session: Session, config: RunConfig) -> list[FieldProblem]:
    """Return a warning for a need that no known worker can satisfy; it is no error, as another worker may join."""
    known = machines(session, None)
    never = why_never(config.needs, known, "known") if known else None
    if never is None:
        return []
    field, reason = never
    value = flatten(config.model_dump(mode="json"))[field]
    return [FieldProblem(field=field, value=value, remedy=f"{reason}; the run waits until such a worker joins")]


def report(session: Session, checked: CheckedDraft) -> ConfigReport:
    """Render a validated config for the form."""
    config = checked.resolution.config
    return ConfigReport(
        config=config.model_dump(mode="json"),
        warnings=field_problems(checked.resolution.warnings) + _capacity_warnings(session, config),
        diff=checked.diff,
        threshold_map=threshold_map(config),
        constants=constants(config),
    )
