"""Resolves a recipe or a parent run, with changes, to a validated config; says what its thresholds come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

from sqlalchemy.orm import Session

from backend.files.resources import references
from backend.fleet.queue.matching import why_never
from backend.kit.errors import field_problems
from backend.models import Run
from backend.readings.prompt_lists import references as prompt_lists
from backend.readings.prompt_lists.repository import FIELD as PROMPT_LIST
from backend.runs import repository
from backend.runs.checkpoints import service as checkpoints
from backend.workers.repository import machines
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigDraft, ConfigReport, ThresholdMapRow
from bapo.config import ConfigError, ConfigProblem, ResolvedConfig, RunConfig, apply_changes, parse_config, resolve
from bapo.config.paths import named_paths
from bapo.config.recipes import Recipe, shipped_recipes
from bapo.config.resolve import ExplicitConfig, difference, flatten
from bapo.config.task import ReasoningGymTaskConfig
from bapo.methods.bapo import BapoConfig
from bapo.run.fork import fork_problems
from bapo.tasks.reasoning_gym import missing_package
from bapo.theory import theory_constants
from bapo.thresholds import Thresholds


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


NUM_ROWS = 21
"""r_tot = 0, 0.05, …, 1."""


def threshold_map(config: RunConfig) -> list[ThresholdMapRow]:
    """Return the roles of each number of correct responses; empty for methods without thresholds."""
    method = config.method
    if not isinstance(method, BapoConfig):
        return []
    return [_row(method, Fraction(i, NUM_ROWS - 1), config.rollout.group_size) for i in range(NUM_ROWS)]


def _row(method: BapoConfig, r_tot: Fraction, group_size: int) -> ThresholdMapRow:
    thresholds = Thresholds.at(r_tot, c1=method.c1, c2=method.c2, c3=method.c3, group_size=group_size)
    roles = []
    for num_correct in range(group_size + 1):
        # The uniform filter draws from all groups, the others only from those with mixed rewards.
        is_fresh = method.filter.type == "uniform" or 0 < num_correct < group_size
        named = {
            "fresh": is_fresh,
            "difficult": "reevaluated" not in method.without and thresholds.is_difficult(num_correct),
            "reusable": "reused" not in method.without and thresholds.is_reusable(num_correct),
        }
        roles.append("+".join(role for role, holds in named.items() if holds) or "nothing")
    return ThresholdMapRow(r_tot=float(r_tot), c2=float(thresholds.c2), c3=float(thresholds.c3), roles=roles)


def constants(config: RunConfig) -> dict[str, float | None]:
    """Return K1, K2, K2_exact and K3 at r_tot = 0 (arXiv:2602.20722, Eq. 11–13); `None` without thresholds."""
    method = config.method
    if not isinstance(method, BapoConfig):
        return {"K1": None, "K2": None, "K2_exact": None, "K3": None}
    values = theory_constants(
        group_size=config.rollout.group_size,
        c1=method.c1,
        c2=method.c2[0],
        c3=method.c3[0],
        filter_keeps_mixed_only=method.filter.type != "uniform",
    )
    return {"K1": values.k1, "K2": values.k2, "K2_exact": values.k2_exact, "K3": values.k3}
