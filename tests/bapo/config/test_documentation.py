from __future__ import annotations

from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.documentation import documentation, method_types, task_types
from bapo.config.fields import FieldDocumentation
from bapo.config.method import METHODS
from bapo.config.resolve import flatten


def field(path: str) -> FieldDocumentation:
    (found,) = (each for each in documentation() if each.path == path)
    return found


TASKS: dict[str, dict[str, Any]] = {
    "countdown": {},
    "file": {"type": "file", "train_file": "train.parquet"},
    "reasoning_gym": {"type": "reasoning_gym"},
}


def dumped(method: str, task: str = "countdown") -> dict[str, Any]:
    config = resolve({"method": {"type": method}, "task": TASKS[task], "training": {"steps": 1}}).config
    return flatten(config.model_dump(mode="json"))


def test_every_field_of_every_method_is_documented_once() -> None:
    paths = [each.path for each in documentation()]
    assert len(paths) == len(set(paths))
    assert set(paths) == set().union(*(dumped(method, task) for method in METHODS.classes for task in TASKS))


@pytest.mark.parametrize("documented", documentation(), ids=lambda each: each.path)
def test_every_field_says_what_it_means(documented: FieldDocumentation) -> None:
    assert documented.description
    assert documented.kind in ("choice", "choices") or not documented.choices
    assert documented.optional or documented.default is not None


@pytest.mark.parametrize("documented", documentation(), ids=lambda each: each.path)
def test_every_default_is_accepted_as_a_value(documented: FieldDocumentation) -> None:
    changes = {documented.path: documented.default}
    # A section that the default method has not got belongs to another one.
    owner = {"method.type": documented.method_types[0]} if documented.method_types else {}
    task = TASKS[documented.task_types[0]] if documented.task_types else {}
    resolve(apply_changes({"task": task}, owner | changes))


def test_epochs_alone_take_the_place_of_the_default_steps() -> None:
    assert resolve({"training": {"epochs": 3}}).config.training.steps is None
    assert resolve({"training": {"seed": 7}}).config.training.steps == 150


@pytest.mark.parametrize("method", METHODS.classes)
def test_method_types_are_those_that_know_the_field(method: str) -> None:
    of_countdown = [each for each in documentation() if not each.task_types or "countdown" in each.task_types]
    known = {each.path for each in of_countdown if not each.method_types or method in each.method_types}
    assert known == set(dumped(method))


@pytest.mark.parametrize("task", TASKS)
def test_task_types_are_those_that_know_the_field(task: str) -> None:
    of_bapo = [each for each in documentation() if not each.method_types or "bapo" in each.method_types]
    known = {each.path for each in of_bapo if not each.task_types or task in each.task_types}
    assert known == set(dumped("bapo", task))
    assert task in task_types()


def test_the_default_method_is_bapo() -> None:
    assert field("method.type").default == RunConfig().method.type == "bapo"
    assert method_types() == field("method.type").choices == field("method.type").method_types


@pytest.mark.parametrize(
    ("path", "kind", "minimum", "maximum", "optional"),
    [
        ("method.c1", "fraction", 0, 1, False),
        ("method.c2", "fraction_range", 0, 1, False),
        ("method.v", "integer", 1, 1_000_000, False),
        ("method.without", "choices", None, None, False),
        ("method.difficult_buffer.capacity", "integer", 1, 10_000_000, True),
        ("loss.dual_clip", "number", 1, None, True),
        ("evaluation.enabled", "flag", None, None, False),
        ("task.num_operands", "list", None, None, False),
        ("task.train_file", "text", None, None, True),
        ("task.test_files", "texts", None, None, False),
        ("task.verifier", "text", None, None, False),
    ],
)
def test_kind_and_range_are_read_off_the_types(
    path: str, kind: str, minimum: float | None, maximum: float | None, optional: bool
) -> None:
    documented = field(path)
    assert (documented.kind, documented.minimum, documented.maximum, documented.optional) == (
        kind, minimum, maximum, optional,
    )  # fmt: skip


def test_choices_are_listed() -> None:
    assert field("method.without").choices == ("reevaluated", "reused")
    assert field("loss.aggregation").choices == ("auto", "token-mean", "response-mean")


@pytest.mark.parametrize("method", METHODS.classes)
def test_each_methods_own_default_is_the_one_that_it_gets(method: str) -> None:
    own = [each for each in documentation() if method in each.method_types and each.path != "method.type"]
    given = {each.path: each.of_type(method).default for each in own}
    explicit = apply_changes({"training": {"steps": 1}}, {"method.type": method} | given)
    assert flatten(resolve(explicit).config.model_dump(mode="json")) == dumped(method)


def test_a_shared_field_tells_what_a_method_has_otherwise() -> None:
    sync = field("method.v")
    assert sync.default == sync.of_type("grpo_delayed").default == 5
    assert sync.of_type("arpo").default == 1
    assert "grpo_delayed" not in sync.variants
    again = field("method.m").of_type("bapo_mini")
    assert (again.default, again.minimum) == (5, 1)
    assert "all-wrong prompts" in again.description


def test_a_shared_field_tells_what_a_type_of_tasks_has_otherwise() -> None:
    verifier = field("task.verifier")
    assert verifier.default == verifier.of_type("countdown").default == "countdown"
    assert verifier.of_type("file").default == "math"
    assert field("task.type").of_type("file").default == "countdown"


def test_the_type_is_described_by_its_method() -> None:
    kind = field("method.type")
    assert kind.description.startswith("BAPO: fresh, re-evaluated and reused groups")
    assert kind.of_type("dapo").description.startswith("DAPO: prompts are rolled out until")
    assert {kind.of_type(method).default for method in METHODS.classes} == {"bapo"}
