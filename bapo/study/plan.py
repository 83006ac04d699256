"""Plans the runs of a declared study: which there are, what each sets, and whether it can run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from bapo.config.error_messages import MOST_PROBLEMS
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.recipes import shipped_recipes
from bapo.config.resolve import apply_changes, resolve
from bapo.config.run import RunConfig
from bapo.config.task import CountdownTaskConfig, FileTaskConfig, ReasoningGymTaskConfig, TaskSection
from bapo.study.declaration import Arm, Declaration, Regime, slug
from bapo.study.results import StudyStage
from bapo.tasks.countdown.task import CD_4, CD_34

VALIDATION_SETS = (CD_34, CD_4)
"""Sets of the one task that has validation problems, Countdown."""


class PlannedRun(NamedTuple):
    """One run of a study."""

    name: str
    """Unique in the study, and the name of its folder."""
    stage: StudyStage
    regime: str
    arm: str
    seed: int
    point: Mapping[str, Any]
    """Point of the tuning grid; the chosen one in a final run."""
    changes: Mapping[str, Any]
    """All fields that it sets on top of the recipe."""


Choices = Mapping[tuple[str, str], Mapping[str, Any]]
"""(regime, arm) → the point of the tuning grid that was chosen."""


def base_of(study: Declaration) -> dict[str, Any]:
    """Return the fields that all runs start from. Raises ConfigError for a recipe that does not exist."""
    if study.recipe is None:
        return apply_changes({}, study.config)
    for recipe in shipped_recipes():
        if recipe.name == study.recipe:
            return recipe.explicit
    names = ", ".join(recipe.name for recipe in shipped_recipes())
    # A file could change while the study runs.
    remedy = f"no such recipe: take one of {names}, or write the fields under [config]"
    raise ConfigError([ConfigProblem("recipe", study.recipe, remedy)])


def tuning_points(study: Declaration) -> list[dict[str, Any]]:
    """Return every combination of the tuning grid."""
    if study.tuning is None:
        return []
    grid = study.tuning.grid
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def tuning_runs(study: Declaration) -> list[PlannedRun]:
    """Return the runs that choose settings, on validation problems."""
    if study.tuning is None:
        return []
    beside = {**study.tuning.set, "task.held_out": "validation"}
    return [
        PlannedRun(
            _name(regime.name, arm.name, f"tuning-{number}", f"seed-{seed}"),
            "tuning",
            regime.name,
            arm.name,
            seed,
            point,
            _changes(study, regime, arm, {**beside, **point}, seed),
        )
        for regime in study.regimes
        for arm in study.tuned_arms
        for number, point in enumerate(tuning_points(study), start=1)
        for seed in study.tuning.seeds
    ]


def final_runs(study: Declaration, choices: Choices) -> list[PlannedRun]:
    """Return the runs that the results are read from, seed by seed: a study that is cut short has whole seeds."""
    return [
        PlannedRun(
            _name(regime.name, arm.name, f"seed-{seed}"),
            "final",
            regime.name,
            arm.name,
            seed,
            choices.get((regime.name, arm.name), {}),
            _changes(study, regime, arm, choices.get((regime.name, arm.name), {}), seed),
        )
        for regime in study.regimes
        for seed in study.seeds
        for arm in study.arms
    ]


def _name(*parts: str) -> str:
    return "--".join(slug(part) for part in parts)


def _changes(study: Declaration, regime: Regime, arm: Arm, last: Mapping[str, Any], seed: int) -> dict[str, Any]:
    return {
        **study.set,
        **regime.set,
        "method.type": arm.method,
        **arm.set,
        **last,
        "training.seed": seed,
    }


def resolved(study: Declaration, run: PlannedRun) -> RunConfig:
    """Return a run's complete config. Raises ConfigError where it cannot run."""
    return resolve(apply_changes(base_of(study), run.changes)).config


def check(study: Declaration) -> list[ConfigProblem]:
    """Make sure that every run of a study can run; the warnings, each with where in the file it comes from.

    Raises ConfigError naming each field, value and remedy.
    """
    base = base_of(study)
    problems: dict[str, ConfigProblem] = {}
    warnings: dict[str, ConfigProblem] = {}
    seen: set[str] = set()
    for run in (*final_runs(study, {}), *tuning_runs(study)):
        # Seeds change nothing about what is legal.
        kind = json.dumps([run.stage, run.regime, run.arm, dict(run.point)], default=str)
        if kind in seen:
            continue
        seen.add(kind)
        try:
            config = resolve(apply_changes(base, run.changes)).config
        except ConfigError as error:
            found = [_placed(study, run, problem) for problem in error.problems]
        else:
            warned = [_placed(study, run, problem) for problem in config.warnings] if run.stage == "final" else []
            warnings |= {str(each): each for each in warned}
            found = _evaluated(study, config)
        problems |= {str(each): each for each in found}
        # The other runs break mostly the same rules.
        if len(problems) >= MOST_PROBLEMS:
            break
    if problems:
        raise ConfigError(list(problems.values()))
    return list(warnings.values())


def _placed(study: Declaration, run: PlannedRun, problem: ConfigProblem) -> ConfigProblem:
    """Locate a refused field in the study file."""
    field = problem.field
    arm = next(arm for arm in study.arms if arm.name == run.arm)
    regime = next(regime for regime in study.regimes if regime.name == run.regime)
    if field == "method.type":
        return ConfigProblem(f"arms.{arm.name}.method", problem.value, problem.remedy)
    places: list[tuple[str, Mapping[str, Any]]] = [
        ("tuning.grid", run.point if run.stage == "tuning" else {}),
        ("tuning.set", study.tuning.set if study.tuning and run.stage == "tuning" else {}),
        (f"arms.{arm.name}.set", arm.set),
        (f"regimes.{regime.name}.set", regime.set),
        ("set", study.set),
        ("config", study.config),
    ]
    for place, fields in places:
        if any(each == field or each.startswith(f"{field}.") or field.startswith(f"{each}.") for each in fields):
            return ConfigProblem(f"{place}.{field}", problem.value, problem.remedy)
    return ConfigProblem(f"arms.{arm.name}.{field}", problem.value, problem.remedy)


def _evaluated(study: Declaration, config: RunConfig) -> list[ConfigProblem]:
    """Return problems that keep the results from being read."""
    problems = []
    if not config.evaluation.enabled:
        problems.append(ConfigProblem("set.evaluation.enabled", False, "a study needs evaluations: leave it true"))
    known = test_sets_of(config.task)
    if known is not None:
        names = " and ".join(known) or "nothing"
        problems += [
            ConfigProblem("test_sets", name, f"the task evaluates on {names}: choose from these")
            for name in study.test_sets
            if name not in known
        ]
    return problems


def test_sets_of(task: TaskSection) -> Sequence[str] | None:
    """Return the names of the sets that a task evaluates on; None where only the task itself knows them."""
    match task:
        case CountdownTaskConfig():
            return CD_34, CD_4
        case FileTaskConfig() if not any(path.startswith("@") for path in task.test_files):
            return [PurePath(path).stem for path in task.test_files]
        case ReasoningGymTaskConfig():
            return task.datasets
    return None
