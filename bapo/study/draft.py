"""A first draft of a study from runs that exist: their settings become arms, their seeds its seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bapo.analysis.comparison import SEED_FIELD, setting_name, value_text
from bapo.config.errors import ConfigError
from bapo.config.method import method_name
from bapo.config.recipes import shipped_recipes
from bapo.config.resolve import flatten, resolve
from bapo.study.plan import test_sets_of

_APART = ("method.type", SEED_FIELD, "task.held_out")
"""Fields that a study declares elsewhere, or decides itself."""


class DraftedRun(NamedTuple):
    """A run to draft a study from."""

    recipe: str | None
    explicit: Mapping[str, Any]
    """Flat: what was set on top of the defaults."""
    config: Mapping[str, Any]
    """Complete and nested."""


def drafted(runs: Sequence[DraftedRun]) -> dict[str, Any]:
    """Return the table of a study file. Its question, and what else only a person knows, is left to be written."""
    recipes = {recipe.name: flatten(recipe.explicit) for recipe in shipped_recipes()}
    names = {run.recipe for run in runs}
    recipe = names.pop() if len(names) == 1 else None
    base = recipes.get(recipe or "")
    own = [
        {
            field: value
            for field, value in run.explicit.items()
            if field not in _APART and value is not None and (base is None or base.get(field) != value)
        }
        for run in runs
    ]
    common = {
        field: value for field, value in own[0].items() if all(field in each and each[field] == value for each in own)
    }
    arms: dict[str, dict[str, Any]] = {}
    for run, fields in zip(runs, own, strict=True):
        apart = {field: value for field, value in fields.items() if field not in common}
        method = str(run.config["method"]["type"])
        arms.setdefault(
            json.dumps([method, apart], sort_keys=True, default=str),
            {"name": _arm_name(method, apart), "method": method, **({"set": apart} if apart else {})},
        )
    named = _distinct(list(arms.values()))
    seeds = sorted({int(run.config["training"]["seed"]) for run in runs})
    sets = _test_sets(runs[0].config)
    return {
        "title": "",
        "question": "",
        **({"recipe": recipe} if base is not None else {}),
        "seeds": seeds,
        "test_sets": sets,
        "num_runs": len(named) * len(seeds),
        **({"config" if base is None else "set": common} if common else {}),
        "primary": {"arm": named[-1]["name"], "against": named[0]["name"]},
        "arms": named,
    }


def _arm_name(method: str, apart: Mapping[str, Any]) -> str:
    settings = ", ".join(f"{setting_name(field, apart)} = {value_text(value)}" for field, value in apart.items())
    name = f"{method_name(method)} ({settings})" if settings else method_name(method)
    allowed = "".join(letter if letter.isalnum() or letter in " .,;:+()=/<>≤≥½-_" else "-" for letter in name)
    return allowed[:57].strip()


def _distinct(arms: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: dict[str, int] = {}
    found = []
    for arm in arms:
        number = seen[arm["name"].casefold()] = seen.get(arm["name"].casefold(), 0) + 1
        found.append(arm if number == 1 else {**arm, "name": f"{arm['name'][:55]} {number}"})
    return found


def _test_sets(config: Mapping[str, Any]) -> list[str]:
    try:
        return list(test_sets_of(resolve(dict(config)).config.task) or ())
    except ConfigError:
        return []
