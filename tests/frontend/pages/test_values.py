"""Between typed text and config values."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.configs import ConfigFieldInfo
from bapo.config.documentation import documentation
from frontend.components.config_form.values import FormField, changes, parsed, same, shown
from frontend.components.symbols import SYMBOLS

FIELDS = {
    field.path: ConfigFieldInfo.model_validate(field, from_attributes=True, extra="ignore") for field in documentation()
}


@pytest.mark.parametrize(
    ("path", "value", "inputs"),
    [
        ("method.c1", 0.125, ["1/8"]),
        ("method.c1", "1/3", ["1/3"]),
        ("method.c1", 0.123, ["0.123"]),
        ("method.c1", 0, ["0"]),
        ("method.c2", [0.125, 0.5], ["1/8", "1/2"]),
        ("method.v", 5, ["5"]),
        ("training.learning_rate", 3e-4, ["0.0003"]),
        ("training.mini_batch_size", None, [""]),
        ("evaluation.enabled", True, ["on"]),
        ("method.without", ["reused"], [["reused"]]),
        ("task.num_operands", [3, 4], ["3, 4"]),
        ("method.type", "bapo", ["bapo"]),
        ("task.exclude_prompts", [], [""]),
        ("task.exclude_prompts", ["GSM8K:1f", "sums:2e"], ["GSM8K:1f, sums:2e"]),
        # A data source may hold commas and quotes.
        ("task.exclude_prompts", ["web, 2024:1f", "sums:2e"], ['"web, 2024:1f", sums:2e']),
        ("task.exclude_prompts", ['the "web", 2024:1f', '"q" b:2e'], ['"the ""web"", 2024:1f", """q"" b:2e"']),
        ("task.exclude_prompts", ['5" nails:1f', "b:2e"], ['5" nails:1f, b:2e']),
    ],
)
def test_what_is_shown_means_the_value_again(path: str, value: Any, inputs: list[Any]) -> None:
    info = FIELDS[path]
    assert shown(info, value) == inputs
    assert same(info, parsed(info, inputs), value)


@pytest.mark.parametrize(
    ("path", "inputs", "value"),
    [
        ("method.v", ["5.5"], 5.5),
        ("method.v", ["five"], "five"),
        ("method.v", [""], ""),
        ("method.c1", ["1/0"], "1/0"),
        ("method.c1", [None], ""),
        ("training.mini_batch_size", [" "], None),
        ("task.num_operands", ["3 4,5"], [3, 4, 5]),
        ("task.num_operands", ["3, x"], [3, "x"]),
        ("task.train_file", [""], None),
        ("task.exclude_prompts", ["a:1f\nb:2e, c:3d"], ["a:1f", "b:2e", "c:3d"]),
        ("task.exclude_prompts", ['"' + "a:1f, " * 30_000], ['"' + ("a:1f, " * 30_000).strip()]),
    ],
)
def test_what_is_no_value_goes_to_the_server_as_typed(path: str, inputs: list[Any], value: Any) -> None:
    assert parsed(FIELDS[path], inputs) == value


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("1/8", 0.125, True), ("0.1250", "1/8", True), ("1/8", "1/7", False), ("x", 0.125, False)],
)
def test_fractions_are_compared_exactly(left: Any, right: Any, expected: bool) -> None:
    assert same(FIELDS["method.c1"], left, right) is expected


@pytest.mark.parametrize(
    ("path", "left", "right", "expected"),
    [
        ("task.num_operands", [3, 4], [3, 4], True),
        ("task.num_operands", [3, 4], [4, 3], False),
        ("task.num_operands", [3, 4], [3], False),
        ("task.exclude_prompts", ["a:1f", "b:2e"], ["b:2e", "a:1f"], False),
        ("task.exclude_prompts", [], None, True),
        # Boxes to tick have no order.
        ("method.without", ["reused", "reevaluated"], ["reevaluated", "reused"], True),
    ],
)
def test_lists_are_equal_in_the_same_order(path: str, left: Any, right: Any, expected: bool) -> None:
    assert same(FIELDS[path], left, right) is expected


def _form(**base: Any) -> list[FormField]:
    values = {path.replace("__", "."): value for path, value in base.items()}
    return [FormField(FIELDS[path], value) for path, value in values.items()]


def test_only_what_differs_is_a_change() -> None:
    fields = _form(method__c1=0.125, method__c2=[0.125, 0.5], method__v=5, training__steps=150)
    typed = {
        "method.c1": ["0.125"],
        "method.c2": ["1/8", "3/4"],
        "method.v": ["7"],
        "training.steps": ["150"],
    }
    assert changes(fields, typed, "bapo", "countdown") == {"method.c2": ["1/8", "3/4"], "method.v": 7}


def test_fields_of_another_method_are_left_out() -> None:
    fields = _form(method__c1=0.125, method__type="bapo")
    typed = {"method.c1": ["1/2"], "method.type": ["grpo"]}
    assert changes(fields, typed, "grpo", "countdown") == {"method.type": "grpo"}


def test_fields_that_the_form_does_not_show_are_left_alone() -> None:
    assert changes(_form(method__c1=0.125, method__v=5), {"method.v": ["5"]}, "bapo", "countdown") == {}


def test_symbols_name_fields_that_exist() -> None:
    assert SYMBOLS.keys() <= FIELDS.keys()
