"""Resolves a recipe or a parent run, with changes, to a validated config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from sqlalchemy.orm import Session

from backend.files.resources import references
from backend.fleet.queue.matching import why_never
from backend.kit.errors import field_problems
from backend.launch.configs.theory import constants, threshold_map
from backend.models import Run
from backend.readings.prompt_lists import references as prompt_lists
from backend.readings.prompt_lists.repository import FIELD as PROMPT_LIST
from backend.runs import repository
from backend.runs.checkpoints import service as checkpoints
from backend.workers.repository import machines
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigDraft, ConfigReport
from bapo.config import ConfigError, ConfigProblem, ResolvedConfig, RunConfig, apply_changes, parse_config, resolve
from bapo.config.paths import named_paths
from bapo.config.recipes import Recipe, shipped_recipes
from bapo.config.resolve import ExplicitConfig, difference, flatten
from bapo.config.task import ReasoningGymTaskConfig
from bapo.run.fork import fork_problems
from bapo.tasks.reasoning_gym import missing_package


@dataclass(frozen=True)
class CheckedDraft:
    """A config that can run, what it came from and what it names."""

    resolved: ResolvedConfig
    recipe: str | None
    diff: dict[str, tuple[Any, Any]]

    @property
    def uses(self) -> dict[str, str]:
        """Files, folders and prompt list that the config names, by field; those of a list by place, such as `….0`."""
        config = self.resolved.config
        listed = {} if config.task.prompt_list is None else {PROMPT_LIST: config.task.prompt_list}
        return {field: value for field, (_, value) in named_paths(config).items()} | listed


def recipe(name: str) -> Recipe:
    """Return a shipped recipe. Raises ConfigError; a path is never opened here."""
    for each in shipped_recipes():
        if each.name == name:
            return each
    names = ", ".join(each.name for each in shipped_recipes())
    raise ConfigError([ConfigProblem("recipe", name, f"no such recipe: take one of {names}")])


def check(
    session: Session,
    draft: ConfigDraft,
    parent: Run | None,
    project_id: str | None,
    *,
    fork_step: int | None = None,
    for_run: bool = False,
) -> CheckedDraft:
    """Resolve a draft in the light of a project; with `fork_step`, of a fork of the parent's checkpoint of that step.

    `for_run`: the config also has the entries of its prompt list, so that it says all by itself; what was set, and what
    differs, only names the list.

    Raises ConfigError with every problem, Problem 404 for a checkpoint that the parent does not keep.
    """
    explicit, recipe_name = _set_before(session, draft, parent, fork_step)
    named, of_paths = references.resolved(session, apply_changes(explicit, draft.changes), project_id)
    named, of_list = prompt_lists.pinned(session, named, project_id)
    resolved = _resolved(named, [*of_paths, *of_list])
    if too_long := references.context_problems(session, resolved.config):
        raise ConfigError(too_long)
    if missing := _missing_package(resolved.config):
        raise ConfigError([missing])
    base = parse_config(explicit)
    if parent is not None and fork_step is not None and (of_fork := fork_problems(resolved.config, base, fork_step)):
        raise ConfigError(of_fork)
    config = prompt_lists.written_in(session, resolved.config, project_id) if for_run else resolved.config
    return CheckedDraft(replace(resolved, config=config), recipe_name, difference(resolved.config, base))


def _missing_package(config: RunConfig) -> ConfigProblem | None:
    """Return the problem of a task whose package is missing where the run would train, as far as that is known.

    With `bapo up`, the server shares its environment with the trainers. One without PyTorch leaves training to workers
    elsewhere, which have packages of their own.
    """
    trains_here = find_spec("torch") is not None
    return missing_package() if trains_here and isinstance(config.task, ReasoningGymTaskConfig) else None


def _set_before(
    session: Session, draft: ConfigDraft, parent: Run | None, fork_step: int | None
) -> tuple[ExplicitConfig, str | None]:
    """Return what the recipe or the parent sets, and the name of the recipe. Raises as `check` does."""
    if draft.recipe is not None:
        if draft.parent_id is not None:
            remedy = "give either a recipe or a parent run, not both"
            raise ConfigError([ConfigProblem("recipe", draft.recipe, remedy)])
        return recipe(draft.recipe).explicit, draft.recipe
    if parent is None:
        return {}, None
    if fork_step is None:
        return parent.explicit, parent.recipe
    checkpoints.find(session, parent, fork_step)
    return _config_in_force(session, parent, fork_step), parent.recipe


def _resolved(named: ExplicitConfig, problems: Sequence[ConfigProblem]) -> ResolvedConfig:
    """Resolve a config whose names have these problems. Raises ConfigError with them and with anything else."""
    try:
        resolved = resolve(named)
    except ConfigError as error:
        of_names = {problem.field for problem in problems}
        raise ConfigError([*problems, *(each for each in error.problems if each.field not in of_names)]) from None
    if problems:
        raise ConfigError(problems)
    return resolved


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
    config = checked.resolved.config
    return ConfigReport(
        config=config.model_dump(mode="json"),
        warnings=field_problems(config.warnings) + _capacity_warnings(session, config),
        diff=checked.diff,
        threshold_map=threshold_map(config),
        constants=constants(config),
    )
