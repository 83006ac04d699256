"""A config as the text of a recipe."""

from __future__ import annotations

import tomllib

from bapo.config import RunConfig
from bapo.config.recipes import load_recipe
from bapo.config.toml_text import toml_text


def test_a_config_reads_back_as_it_was() -> None:
    config = {"name": 'a "quoted" ü', "method": {"c2": [0.125, 0.5], "filter": {"type": "range"}, "without": []}}
    assert tomllib.loads(toml_text(config)) == config


def test_empty_fields_are_left_out() -> None:
    assert toml_text({"training": {"steps": 3, "epochs": None}}) == "[training]\nsteps = 3\n"


def test_a_complete_config_is_accepted_again() -> None:
    config = RunConfig.model_validate(load_recipe("countdown-demo").explicit).model_dump(mode="json")
    assert RunConfig.model_validate(tomllib.loads(toml_text(config))).model_dump(mode="json") == config
