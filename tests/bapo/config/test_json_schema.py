"""Editors check a recipe by its JSON Schema: what the product accepts is valid, and common mistakes are not."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bapo.config.json_schema import recipe_schema
from bapo.config.method import METHODS
from bapo.config.resolve import resolve
from tests.support.command_line import run_here

VALIDATOR = Draft202012Validator(recipe_schema())
RECIPES = [file for file in resources.files("bapo.config.recipes").iterdir() if file.name.endswith(".toml")]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(recipe_schema())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda file: str(file.name))
def test_every_shipped_recipe_is_valid(recipe: Any) -> None:
    VALIDATOR.validate(tomllib.loads(recipe.read_text(encoding="utf-8")))


def test_the_file_of_a_run_is_valid() -> None:
    VALIDATOR.validate({"recipe": "countdown-demo", "name": "a wider c1", "tags": ["a"], "method": {"c1": "1/4"}})


@pytest.mark.parametrize("method", METHODS.classes)
def test_a_whole_config_of_each_method_is_valid(method: str) -> None:
    VALIDATOR.validate(resolve({"method": {"type": method}}).config.model_dump(mode="json"))


@pytest.mark.parametrize(
    "recipe",
    [
        {"training": {"step": 10}},
        {"method": {"type": "bapoo"}},
        {"method": {"type": "grpo", "c1": "1/8"}},
        {"rollout": {"group_size": "eight"}},
        {"unknown": {}},
    ],
)
def test_a_mistake_is_invalid(recipe: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(recipe)


def test_the_command_prints_it() -> None:
    assert json.loads(run_here("config", "--schema").stdout) == recipe_schema()
