from __future__ import annotations

from pathlib import Path

import pytest

from bapo.config import ConfigError, resolve
from bapo.config.recipes import Recipe, load_recipe, shipped_recipes


@pytest.mark.parametrize("recipe", shipped_recipes(), ids=lambda recipe: recipe.name)
def test_every_shipped_recipe_runs_without_warnings_and_says_what_it_is(recipe: Recipe) -> None:
    assert resolve(recipe.explicit).warnings == ()
    assert recipe.title != recipe.name
    assert recipe.description


def test_the_demo_is_shipped() -> None:
    demo = load_recipe("countdown-demo")
    config = resolve(demo.explicit).config
    assert (config.method.type, config.training.steps, config.rollout.batch_size) == ("bapo", 150, 32)


def test_a_recipe_of_the_users_is_a_toml_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('title = "Mine"\n[method]\nc1 = "1/4"\n[training]\nsteps = 3\n', encoding="utf-8")
    recipe = load_recipe(str(path))
    assert recipe == Recipe("mine", "Mine", "", {"method": {"c1": "1/4"}, "training": {"steps": 3}})
    assert resolve(recipe.explicit).config.training.steps == 3


@pytest.mark.parametrize("content", [b"title = ", b"\xff\xfe"])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not readable as TOML"):
        load_recipe(str(path))


@pytest.mark.parametrize("name", ["countdown-dmo", "/nowhere/mine.toml", ""])
def test_an_unknown_recipe_names_those_there_are(name: str) -> None:
    with pytest.raises(ConfigError, match=r"no such recipe: take one of .*countdown-demo.*or the path of a .toml file"):
        load_recipe(name)
