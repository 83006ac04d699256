"""What the form works out: where a problem belongs, what a link fills in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo
from bapo.config import apply_changes, resolve
from bapo.config.documentation import documentation
from bapo.config.method import METHODS
from bapo.config.resolve import flatten
from frontend.components.config_form.inputs import METHOD, TASK, StartValues, by_field, typed_values
from frontend.components.config_form.methods import CHOOSERS, field_text, looks, own_bases, shared_base
from frontend.components.config_form.values import same
from frontend.pages.new_run import SECTIONS


def test_a_problem_belongs_to_its_field_also_when_it_lies_inside() -> None:
    problems = [
        FieldProblem(field="method.c2", remedy="a"),
        FieldProblem(field="method.c2.1", remedy="b"),
        FieldProblem(field="methodical", remedy="c"),
    ]
    placed, others = by_field(problems, ["method.c1", "method.c2"])
    assert placed == {"method.c2": "a; b"}
    assert [problem.field for problem in others] == ["methodical"]


def test_the_two_inputs_of_a_range_stay_in_order() -> None:
    ids = [{"path": "c2", "part": 1}, {"path": "c1", "part": 0}, {"path": "c2", "part": 0}]
    assert typed_values(ids, ["high", "x", "low"]) == {"c1": ["x"], "c2": ["low", "high"]}


@pytest.mark.parametrize(
    "path",
    [
        "method.type",
        "method.c1",
        "method.c2",
        "method.c3",
        "method.v",
        "method.m",
        "method.max_reevaluated_prompts",
        "rollout.group_size",
        "training.batch_size",
        "training.steps",
        "training.seed",
        "training.learning_rate",
    ],
)
def test_the_fields_that_most_runs_are_about_stand_first(path: str) -> None:
    assert any(path in paths for _, _, paths in SECTIONS)


FIELDS = [ConfigFieldInfo.model_validate(asdict(field)) for field in documentation()]
TYPES = {METHOD: "bapo", TASK: "countdown"}
BASE = flatten(resolve({"method": {"c1": "1/4", "v": 7}}).config.model_dump(mode="json"))


def started(explicit: dict[str, Any], base: dict[str, Any]) -> StartValues:
    own = {chooser: own_bases(chooser, FIELDS, explicit, base) for chooser in CHOOSERS}
    return StartValues(shared_base(FIELDS, base), own)


def test_a_change_of_method_keeps_what_was_set_and_takes_its_own_defaults() -> None:
    start = started({"method.c1": "1/4", "method.v": 7}, BASE)
    assert start.base("bapo", "countdown") == BASE
    assert start.base("arpo", "countdown")["method.v"] == 7
    assert started({}, BASE).base("arpo", "countdown")["method.v"] == 1
    dapo = start.base("dapo", "countdown")
    assert "method.c1" not in dapo
    assert dapo["method.max_rounds"] == 4
    # The base's own type: choosing another one is a change.
    assert dapo["method.type"] == "bapo"


@pytest.mark.parametrize("method", METHODS.classes)
def test_what_the_form_shows_for_a_method_is_what_a_run_of_it_gets(method: str) -> None:
    explicit = {"method": {"c1": "1/4", "v": 7}}
    base = started(flatten(explicit), BASE).base(method, "countdown")
    config = resolve(apply_changes(explicit, {"method.type": method})).config.model_dump(mode="json")
    for path, value in flatten(config).items():
        if path != "method.type":
            info = next(field for field in FIELDS if field.path == path)
            assert same(info, base[path], value), path


TASK_FILES = {"file": {"task.train_file": "problems.jsonl"}}
"""What a type of tasks cannot do without."""


@pytest.mark.parametrize("task", ["countdown", "file", "reasoning_gym"])
def test_what_the_form_shows_for_a_type_of_tasks_is_what_a_run_of_it_gets(task: str) -> None:
    explicit = {"task": {"seed": 3}}
    base = flatten(resolve(explicit).config.model_dump(mode="json"))
    needed = TASK_FILES.get(task, {})
    config = resolve(apply_changes(explicit, {"task.type": task} | needed)).config.model_dump(mode="json")
    own = started(flatten(explicit), base).base("bapo", task)
    for path, value in flatten(config["task"], "task.").items():
        if path != "task.type" and path not in needed:
            info = next(field for field in FIELDS if field.path == path)
            assert same(info, own[path], value), path


def test_each_type_of_tasks_has_its_own_verifier() -> None:
    found = looks(TASK, FIELDS, started({}, BASE), TYPES)
    assert {task: look["task.verifier"]["shown"] for task, look in found.items()} == {
        "countdown": ["countdown"],
        "file": ["math"],
        "reasoning_gym": ["reasoning_gym"],
    }
    assert "task.prompt_column" not in found["countdown"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("task.seed", "0 to 4,294,967,295."),
        ("task.max_train_problems", "1 to 10,000,000."),
        ("rollout.temperature", "0 to 10."),
        ("training.max_grad_norm", "At least 0."),
    ],
)
def test_the_range_of_a_field_is_written_out(path: str, text: str) -> None:
    info = next(field for field in FIELDS if field.path == path)
    assert (field_text(info, "bapo") or "").endswith(text)


def test_the_text_beneath_a_field_is_the_methods() -> None:
    found = looks(METHOD, FIELDS, started({}, BASE), TYPES)
    assert found["gspo"]["method.type"]["text"].startswith("GSPO: GRPO with one length-normalised ratio")
    assert found["gspo"]["loss.clip_low"]["text"].endswith("gspo has 0.0003.")
    assert found["gspo"]["loss.ratio_level"]["text"].endswith("gspo has sequence.")
    assert "method.c1" not in found["gspo"]
    assert found["bapo"]["method.c2"]["shown"] == ["1/8", "1/2"]
    assert found["bapo"]["method.c2"]["was"] == "1/8, 1/2"
    assert found["dapo"]["method.overlong_buffer_tokens"]["was"] == "empty"
