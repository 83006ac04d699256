"""A study file as the inputs of a form, and back."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo
from bapo.config.documentation import documentation
from frontend.pages.studies.changes import with_change, with_field
from frontend.pages.studies.form_model import by_key, inputs_of, items_of, numbers_text, with_inputs

FILE = tomllib.loads("""
title = "Delay"
question = "Is it?"
recipe = "countdown-demo"
seeds = [1, 2, 3]
test_sets = ["CD-34"]
num_runs = 6
[set]
"training.steps" = 20
[[arms]]
name = "A (0.5)"
method = "bapo"
set = { "method.c1" = 0.25, method.c2 = ["1/8", "1/2"] }
[[arms]]
name = "B"
method = "grpo"
[primary]
arm = "A (0.5)"
against = "B"
""")
INFOS = {
    each.path: ConfigFieldInfo.model_validate(
        {
            name: getattr(each, name)
            for name in ConfigFieldInfo.model_fields
            if hasattr(each, name) and name != "variants"
        }
    )
    for each in documentation()
}


def typed(**inputs: Any) -> dict[str, Any]:
    """The file after these inputs were typed into, all others being as they are shown."""
    items = items_of(FILE, INFOS)
    shown = {key: inputs_of(FILE, item) for key, item in items.items()} | {
        key.replace("__", "/").replace("_0_", "/0/"): value for key, value in inputs.items()
    }
    pairs = [({"path": key, "part": part}, value) for key, values in shown.items() for part, value in enumerate(values)]
    return with_inputs(FILE, INFOS, [identifier for identifier, _ in pairs], [value for _, value in pairs])


def test_a_form_that_nobody_touched_changes_nothing() -> None:
    assert typed() == FILE


@pytest.mark.parametrize(
    ("values", "text"),
    [([1, 2, 3, 4, 5], "1..5"), ([1, 2, 7], "1, 2, 7"), ([5, 1, 2, 3], "5, 1..3"), ([], ""), (["x", 1], "x, 1")],
)
def test_seeds_are_shown_as_they_are_typed(values: list[Any], text: str) -> None:
    assert numbers_text(values) == text


def test_more_seeds_make_more_runs() -> None:
    found = typed(seeds=["1..5"])
    assert (found["seeds"], found["num_runs"]) == ([1, 2, 3, 4, 5], 10)


def test_an_arms_new_name_is_followed_by_what_refers_to_it() -> None:
    found = typed(**{"arms/0/name": ["New"]})
    assert found["arms"][0]["name"] == "New"
    assert found["primary"] == {"arm": "New", "against": "B"}


def test_config_fields_are_typed_as_in_the_form_of_a_run() -> None:
    assert items_of(FILE, INFOS)["arms/0/set/method.c1"].info.kind == "fraction"
    found = typed(**{"arms/0/set/method.c1": ["3/8"], "set/training.steps": ["40"]})
    assert found["arms"][0]["set"] == {"method.c1": "3/8", "method.c2": ["1/8", "1/2"]}
    assert found["set"] == {"training.steps": 40}
    assert typed(**{"arms/0/set/method.c2": ["1/8", "3/4"]})["arms"][0]["set"]["method.c2"] == ["1/8", "3/4"]
    # What is no value goes to the server as it was typed.
    assert typed(**{"set/training.steps": ["many"]})["set"] == {"training.steps": "many"}


def test_an_emptied_text_is_left_out() -> None:
    assert "question" not in typed(question=[""])
    assert typed(reference=["B"])["reference"] == "B"


def test_buttons_add_and_remove_arms_regimes_fields_and_tuning() -> None:
    more = with_change(FILE, "add-member", "arms")
    assert ([arm["name"] for arm in more["arms"]], more["num_runs"]) == (["A (0.5)", "B", "New arm"], 9)
    copied = with_change(FILE, "copy-member", "arms/1")
    assert [arm["name"] for arm in copied["arms"]] == ["A (0.5)", "B", "B 2"]
    assert with_change(FILE, "remove-member", "arms/0")["num_runs"] == 3
    regimes = with_change(with_change(FILE, "add-member", "regimes"), "add-member", "regimes")
    assert ([each["name"] for each in regimes["regimes"]], regimes["num_runs"]) == (["main", "regime 2"], 12)
    assert "regimes" not in with_change(
        with_change(regimes, "remove-member", "regimes/0"), "remove-member", "regimes/0"
    )
    tuned = with_change(FILE, "add-tuning", "tuning")
    assert tuned["tuning"] == {"seeds": [4], "grid": {}}
    candidates = with_field(tuned, "tuning/grid", "method.v", INFOS)
    # One candidate × one seed × two arms, beside 6.
    assert (candidates["num_runs"], list(candidates["tuning"]["grid"])) == (8, ["method.v"])
    assert with_change(candidates, "remove-tuning", "tuning") == FILE
    field = with_field(FILE, "arms/1/set", "loss.clip_low", INFOS)
    assert "loss.clip_low" in field["arms"][1]["set"]
    assert with_change(field, "remove-field", "arms/1/set/loss.clip_low") == FILE


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ("title", "title"),
        ("seeds.0", "seeds"),
        ("arms.0.name", "arms/0/name"),
        ("arms.A (0.5).set.method.c1", "arms/0/set/method.c1"),
        ("arms.A (0.5).set.method.c2.0", "arms/0/set/method.c2"),
        ("arms.B.method", "arms/1/method"),
        ("arms.B.task.type", "arms/1/name"),
        ("set.training.steps", "set/training.steps"),
        ("primary.against", "primary/against"),
        ("bogus", None),
    ],
)
def test_a_problem_stands_at_the_input_that_it_is_about(field: str, key: str | None) -> None:
    keys = list(items_of(FILE, INFOS))
    assert list(by_key([FieldProblem(field=field, remedy="mend it")], FILE, keys)) == ([] if key is None else [key])
