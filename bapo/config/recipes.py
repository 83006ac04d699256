"""Recipes: named starting points of a run, TOML files shipped with the library or written by the user."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from bapo.config.errors import ConfigError, ConfigProblem


@dataclass(frozen=True, slots=True)
class Recipe:
    """A title, a paragraph that says when to take it, and the fields that it sets."""

    name: str
    title: str
    description: str
    explicit: dict[str, Any]


@cache
def shipped_recipes() -> tuple[Recipe, ...]:
    """The recipes that come with the library, sorted by name."""
    folder = resources.files("bapo") / "recipes"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(_parse(file.name.removesuffix(".toml"), file.read_text(encoding="utf-8")) for file in files)


def load_recipe(name_or_path: str) -> Recipe:
    """A shipped recipe by name, or one from a TOML file. Raises ConfigError with the names there are."""
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
    return Recipe(name, title, description, table)
