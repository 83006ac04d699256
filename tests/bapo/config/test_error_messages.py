"""What people read when a config is wrong: each test is one mistake with the words it gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bapo.config import ConfigError, ConfigProblem, apply_changes, resolve
from bapo.config.documentation import documentation, method_types


def problems(changes: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        resolve(apply_changes({"training": {"steps": 1}}, changes))
    return [str(problem) for problem in caught.value.problems]


def listed(names: Sequence[str], conjunction: str) -> str:
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def owners(path: str) -> Sequence[str]:
    return next(field.method_types for field in documentation() if field.path == path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method.cl": 0.2}, "method.cl = 0.2: no such field: did you mean method.c1?"),
        ({"method.C2": [0, 0]}, "method.C2 = [0, 0]: no such field: did you mean method.c2?"),
        ({"method.filter.sdt": 1}, "method.filter.sdt = 1: no such field: did you mean method.filter.std?"),
        (
            {"training.learning_rat": 1},
            "training.learning_rat = 1: no such field: did you mean training.learning_rate?",
        ),
        ({"trainig.seed": 5}, "trainig = {'seed': 5}: no such section: did you mean training?"),
        ({"c1": 0.2}, "c1 = 0.2: no such section: did you mean method.c1?"),
        ({"training.group_size": 4}, "training.group_size = 4: no such field: did you mean rollout.group_size?"),
        (
            {"method.batch_size": 4},
            "method.batch_size = 4: no such field: did you mean rollout.batch_size, training.batch_size or "
            "warm_start.batch_size?",
        ),
        (
            {"samples.xyz": 4},
            "samples.xyz = 4: no such field: take groups_per_step",
        ),
        (
            {"xyz.seed": 4},
            "xyz = {'seed': 4}: no such section: take model, task, method, rollout, training, warm_start, loss, "
            "tracking, evaluation, samples, engine or resources",
        ),
    ],
)
def test_a_misspelt_field_gets_the_nearest_name(changes: dict[str, Any], message: str) -> None:
    assert problems(changes) == [message]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"method.type": "grpo", "method.c1": 0.2},
            f"method.c1 = 0.2: grpo has no c1; it belongs to {listed(owners('method.c1'), 'and')}: remove it, "
            "or change method.type",
        ),
        (
            {"method.type": "grpo", "method.v": 2},
            f"method.v = 2: grpo has no v; it belongs to {listed(owners('method.v'), 'and')}: remove it, "
            "or change method.type",
        ),
        (
            {"method.type": "bapo_mini", "method.filter.type": "range"},
            "method.filter = {'type': 'range'}: bapo_mini has no filter; it belongs to bapo, ba_ppo, "
            "bapo_pipelined and bapo_release: remove it, or change method.type",
        ),
        (
            {"method.type": "grpo", "method.critic.learning_rate": 1e-3},
            "method.critic = {'learning_rate': 0.001}: grpo has no critic; it belongs to ba_ppo and ppo: remove it, "
            "or change method.type",
        ),
    ],
)
def test_a_field_of_another_method_says_whose_it_is(changes: dict[str, Any], message: str) -> None:
    assert problems(changes) == [message]


@pytest.mark.parametrize(
    ("method_type", "remedy"),
    [
        ("GRPO", "no such method: did you mean grpo?"),
        ("bapo-mini", "no such method: did you mean bapo_mini?"),
        ("xyz", f"no such method: take {listed(method_types(), 'or')}"),
        (5, f"no such method: take {listed(method_types(), 'or')}"),
        ([1], f"no such method: take {listed(method_types(), 'or')}"),
        (None, f"no such method: take {listed(method_types(), 'or')}"),
    ],
)
def test_an_unknown_method_names_those_there_are(method_type: Any, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(apply_changes({}, {"method.type": method_type}))
    assert caught.value.problems == (ConfigProblem("method.type", method_type, remedy),)


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("training.batch_size", 0, "must be at least 1"),
        ("rollout.batch_size", -3, "must be at least 1"),
        ("method.v", 0, "must be at least 1"),
        ("method.m", 0, "must be at least 1"),
        ("rollout.group_size", 1, "must be at least 2"),
        ("rollout.group_size", 1025, "must be at most 1024"),
        ("loss.clip_low", 1, "must be less than 1"),
        ("training.learning_rate", 0, "must be more than 0"),
        ("training.steps", 1.5, "must be a whole number"),
        ("training.steps", "many", "must be a whole number"),
        ("training.steps", [], "must be a whole number"),
        ("training.learning_rate", "fast", "must be a number"),
        ("training.max_grad_norm", float("inf"), "must be a finite number"),
        ("evaluation.enabled", "perhaps", "must be true or false"),
        ("model.path", 5, "must be text"),
        ("task.prompt_template", "", "is empty: fill it in"),
        ("task.prompt_list", "mine", "must be @name or @name:version"),
        ("loss.aggregation", "mean", "must be 'auto', 'token-mean' or 'response-mean'"),
        ("method.without", 5, "must be a list"),
        ("method.c1", 1, "must be at least 0 and less than 1"),
        ("method.c1", "an eighth", 'must be a number: write 0.125 or "1/8"'),
        ("method.c2", 0.5, "must be two values, at r_tot = 0 and at r_tot = 1, such as [0.125, 0.5]"),
        ("samples", 5, "must hold fields: groups_per_step"),
        ("method.filter", "gaussian", "must hold fields: type, mean, std or share"),
    ],
)
def test_a_bad_value_gets_a_remedy(field: str, value: Any, remedy: str) -> None:
    assert problems({field: value}) == [f"{field} = {value!r}: {remedy}"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method.c2": ["1/8", 1.5]}, "method.c2 = 1.5: must be at least 0 and less than 1"),
        ({"method.without": ["reused", "x"]}, "method.without = 'x': must be 'reevaluated' or 'reused'"),
    ],
)
def test_a_bad_value_in_a_list_is_named_by_the_list(changes: dict[str, Any], message: str) -> None:
    assert problems(changes) == [message]


def test_a_rule_between_fields_names_one_of_them_and_its_value() -> None:
    assert problems({"method.c2": [0.5, 0.5]}) == [
        "method.c2 = [0.5, 0.5]: c2 = 0.5 is above c3 = 0.25 at r_tot = 0: lower c2 to at most 0.25 there, or raise c3"
    ]
    # c3 alone was set, so there is no value of c2 to show.
    assert problems({"method.c3": [0, 0.5]})[0].startswith("method.c2: c2 = 0.125 is above c3 = 0 at r_tot = 0")


def test_every_problem_is_found_at_once() -> None:
    assert len(problems({"method.v": 0, "training.batch_size": 0, "rollout.temprature": 1})) == 3


@pytest.mark.parametrize("whole", [5, "bapo", [1], None])
def test_a_config_that_is_no_section_is_refused(whole: Any) -> None:
    with pytest.raises(ConfigError, match=r"config.*must hold fields: model, task, method"):
        resolve(whole)


def test_a_broken_rule_is_told_beside_refused_fields() -> None:
    found = problems({"method.m": 0, "method.c2": [0.9, 0.9], "training.learning_rate": "fast"})
    assert found == [
        "method.m = 0: must be at least 1",
        "training.learning_rate = 'fast': must be a number",
        "method.c2 = [0.9, 0.9]: c2 = 0.9 is above c3 = 0.25 at r_tot = 0: lower c2 to at most 0.25 there, or raise c3",
    ]


def test_a_rule_about_a_refused_field_is_not_judged_by_its_default() -> None:
    # c3 begins at 0.25, which is below c2, but nobody wants it to stay there.
    assert problems({"method.c2": [0.9, 0.9], "method.c3": [0.95, 1.5]}) == [
        "method.c3 = 1.5: must be at least 0 and less than 1"
    ]
    # DAPO's field is none of BAPO's, whose section stands in for the unknown one.
    assert len(problems({"method.type": "dappo", "method.max_rounds": 3})) == 1
