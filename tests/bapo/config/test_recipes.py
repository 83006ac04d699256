from __future__ import annotations

from pathlib import Path

import pytest

from bapo.config import ConfigError, resolve
from bapo.config.recipes import Recipe, load_recipe, shipped_recipes
from bapo.config.resolve import flatten


@pytest.mark.parametrize("recipe", shipped_recipes(), ids=lambda recipe: recipe.name)
def test_every_shipped_recipe_runs_without_warnings_and_says_what_it_is(recipe: Recipe) -> None:
    assert resolve(recipe.explicit).config.warnings == ()
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


PAPERS = [recipe for recipe in shipped_recipes() if recipe.name.startswith(("paper-", "ba-ppo"))]


@pytest.mark.parametrize("recipe", PAPERS, ids=lambda recipe: recipe.name)
def test_every_value_of_a_papers_recipe_names_its_source(recipe: Recipe) -> None:
    assert set(recipe.sources) == set(flatten(recipe.explicit))
    named = ("Section", "Table", "A.", "assumed", "DeepScaleR", "Countdown", "the paper's method")
    assert all(source.startswith(named) for source in recipe.sources.values())


@pytest.mark.parametrize("name", ["paper-math-1.5b", "paper-math-8b"])
def test_the_mathematics_recipes_are_table_3(name: str) -> None:
    recipe = load_recipe(name)
    config = flatten(resolve(recipe.explicit).config.model_dump(mode="json"))
    table_3 = {
        "rollout.top_p": 1.0,
        "rollout.top_k": -1,
        "rollout.temperature": 1.0,
        "rollout.group_size": 8,
        "rollout.max_prompt_tokens": 2048,
        "rollout.max_response_tokens": 8192,
        "rollout.batch_size": 256,
        "training.seed": 42,
        "training.learning_rate": 1e-6,
        "training.mini_batch_size": 64,
        "training.epochs": 3,
        "training.batch_size": 256,
        "loss.kl_coefficient": 0.001,
        "loss.entropy_coefficient": 0.001,
        "method.c1": 1 / 8,
        "method.c2": [1 / 8, 4 / 8],
        "method.c3": [2 / 8, 5 / 8],
        "method.v": 5,
        "method.m": 5,
        "method.max_reevaluated_prompts": 128,
    }
    assert {field: config[field] for field in table_3} == table_3
    assert {recipe.sources[field] for field in table_3} == {"Table 3"}
    # ε and the prompt are not in the paper.
    assert all(recipe.sources[field].startswith("assumed") for field in ("loss.clip_low", "task.instruction"))


def test_a_source_of_a_field_that_is_not_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[training]\nsteps = 3\n[sources]\n"Table 1" = ["training.step"]\n')
    with pytest.raises(ConfigError, match=r"the recipe does not set it.*training\.step"):
        load_recipe(str(path))
