"""Recipes: named starting points of a run, TOML files shipped with the library or written by the user."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.resolve import flatten


@dataclass(frozen=True, slots=True)
class Recipe:
    """A title, a paragraph on when to use it, and the fields that it sets."""

    name: str
    title: str
    description: str
    explicit: dict[str, Any]
    sources: dict[str, str] = field(default_factory=dict)
    """Dotted field → source of its value; a recipe of a paper names one for each field that it sets."""


@cache
def shipped_recipes() -> tuple[Recipe, ...]:
    """Return the shipped recipes: first the demo, then those that run anywhere; then by name."""
    folder = resources.files("bapo.config.recipes")
    found = [
        _parse(file.name.removesuffix(".toml"), file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    ]
    return tuple(sorted(found, key=lambda recipe: (_needs_verl(recipe), recipe.name != "countdown-demo", recipe.name)))


def _needs_verl(recipe: Recipe) -> bool:
    return bool(recipe.explicit.get("engine", {}).get("type") == "verl")


def load_recipe(name_or_path: str) -> Recipe:
    """Return a shipped recipe by name, or one from a TOML file. Raises ConfigError with the valid names."""
    for recipe in shipped_recipes():
        if recipe.name == name_or_path:
            return recipe
    path = Path(name_or_path)
    if path.suffix == ".toml" and path.is_file():
        try:
            return _parse(path.stem, path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError([ConfigProblem("recipe", name_or_path, f"not readable as TOML: {error}")]) from None
    names = ", ".join(recipe.name for recipe in shipped_recipes())
    raise ConfigError(
        [ConfigProblem("recipe", name_or_path, f"no such recipe: take one of {names}, or the path of a .toml file")]
    )


def _parse(name: str, text: str) -> Recipe:
    table = tomllib.loads(text)
    title, description = table.pop("title", name), table.pop("description", "")
    sources = _sources(table.pop("sources", {}))
    unset = sources.keys() - flatten(table).keys()
    if unset:
        remedy = f"the recipe does not set it: set it, or leave it out of [sources] ({', '.join(sorted(unset))})"
        raise ConfigError([ConfigProblem("sources", name, remedy)])
    return Recipe(name, title, description, table, sources)


def _sources(table: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Invert `[sources]`, which lists the fields of each source."""
    return {path: source for source, paths in table.items() for path in paths}
