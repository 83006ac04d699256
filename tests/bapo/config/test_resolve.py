from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any

import pytest

from bapo.config import ConfigError, ResolvedConfig, RunConfig, apply_changes, parse_assignments, resolve
from bapo.config.error_messages import MOST_PROBLEMS
from bapo.config.resolve import config_digest, difference, flatten
from bapo.methods.bapo import BapoConfig
from bapo.methods.bapo_mini import BapoMiniConfig
from bapo.methods.grpo import GrpoConfig

TRAINING = {"training": {"steps": 1}}


def resolved(changes: dict[str, Any], explicit: dict[str, Any] = TRAINING) -> ResolvedConfig:
    return resolve(apply_changes(explicit, changes))


# ---------------------------------------------------------------- reuse that starves


def test_table_3_admits_something_at_every_r_tot_with_eight_responses() -> None:
    assert resolved({}).config.warnings == ()


def test_group_size_4_with_table_3_is_warned_of_with_the_r_tot_that_starves() -> None:
    # k = 1 needs c2 ≤ 1/4 ≤ c3, that is r_tot in [0, 1/3]; k = 2 needs c2 ≤ 1/2 ≤ c3, that is r_tot in [2/3, 1].
    (warning,) = resolved({"rollout.group_size": 4}).config.warnings
    assert warning.field == "method.c2"
    assert warning.value == [[0.125, 0.5], [0.25, 0.625]]
    assert warning.remedy == (
        "no accuracy k/4 lies in [c2, c3] while r_tot is in (0.333, 0.667), so nothing is reused then: "
        "widen the range to at least 1/4, or use a larger rollout.group_size"
    )


def test_thresholds_that_never_admit_a_group_are_refused() -> None:
    # Between 1/8 and 2/8 lies no k/8.
    with pytest.raises(ConfigError) as caught:
        resolved({"method.c2": [0.13, 0.13], "method.c3": [0.24, 0.24]})
    (problem,) = caught.value.problems
    assert problem.field == "method.c2"
    assert problem.remedy == (
        "no accuracy k/8 lies in [c2, c3] at any r_tot: "
        "widen the range to at least 1/8, or use a larger rollout.group_size"
    )


@pytest.mark.parametrize("ends", [["1/8", "3/16"], ["3/16", "1/8"]])
def test_thresholds_that_admit_a_group_at_one_r_tot_only_are_warned_of(ends: list[str]) -> None:
    # c2 = c3 = 1/8 at r_tot = 0 (at 1 where the range falls), and strictly between 1/8 and 2/8 elsewhere.
    (warning,) = resolved({"method.c2": ends, "method.c3": ends}).config.warnings
    assert "while r_tot is in (0, 1)" in warning.remedy


def test_without_reuse_any_thresholds_will_do() -> None:
    narrow = {"method.c2": [0.13, 0.13], "method.c3": [0.24, 0.24], "method.without": ["reused"]}
    assert resolved(narrow).config.warnings == ()


@pytest.mark.parametrize("method", ["grpo", "grpo_delayed", "bapo_mini"])
def test_methods_without_thresholds_are_not_warned_of(method: str) -> None:
    assert resolved({"method.type": method, "rollout.group_size": 4}).config.warnings == ()


def test_gspo_with_one_update_per_step_is_warned_that_it_is_grpo() -> None:
    (warning,) = resolved({"method.type": "gspo"}).config.warnings
    assert (warning.field, warning.value) == ("training.mini_batch_size", None)
    assert "such as 8" in warning.remedy
    sizes = {"training.batch_size": 16, "method.type": "gspo"}
    assert resolved({**sizes, "training.mini_batch_size": 16}).config.warnings
    assert not resolved({**sizes, "training.mini_batch_size": 15}).config.warnings


def test_dapo_with_one_update_per_step_is_warned_that_its_clip_range_never_acts() -> None:
    (warning,) = resolved({"method.type": "dapo"}).config.warnings
    assert (warning.field, warning.value) == ("training.mini_batch_size", None)
    assert "such as 2" in warning.remedy
    assert not resolved({"method.type": "dapo", "training.mini_batch_size": 31}).config.warnings


@pytest.mark.parametrize(("warmup_steps", "is_warned"), [(9, False), (10, True)])
def test_a_run_that_ends_within_the_critics_warm_up_is_warned_of(warmup_steps: int, is_warned: bool) -> None:
    changes = {"method.type": "ppo", "method.critic.warmup_steps": warmup_steps, "training.steps": 10}
    assert [(each.field, each.value) for each in resolved(changes).config.warnings] == (
        [("method.critic.warmup_steps", 10)] if is_warned else []
    )


# ---------------------------------------------------------------- changes


def test_a_new_method_keeps_only_the_set_fields_that_it_knows() -> None:
    explicit = {
        "method": {"type": "bapo", "v": 7, "c1": 0.25, "difficult_buffer": {"capacity": 9}},
        **TRAINING,
    }
    mini = resolved({"method.type": "bapo_mini"}, explicit)
    assert mini.explicit["method"] == {"type": "bapo_mini", "v": 7, "difficult_buffer": {"capacity": 9}}
    assert isinstance(mini.config.method, BapoMiniConfig)
    # What was not set takes the new method's default.
    assert (mini.config.method.v, mini.config.method.m) == (7, 5)
    assert resolved({"method.type": "grpo"}, explicit).explicit["method"] == {"type": "grpo"}


def test_the_same_method_keeps_everything() -> None:
    explicit = {"method": {"type": "bapo", "c1": 0.25}}
    assert apply_changes(explicit, {"method.type": "bapo"}) == explicit
    # A section without a type is BAPO's.
    assert apply_changes({"method": {"c1": 0.25}}, {"method.type": "bapo"})["method"]["c1"] == 0.25


def test_fields_set_together_with_a_new_method_are_set_on_it() -> None:
    changes = {"method.v": 3, "method.type": "grpo_delayed"}
    assert resolved(changes, {"method": {"c1": 0.5}, **TRAINING}).explicit["method"] == {"type": "grpo_delayed", "v": 3}


def test_a_whole_section_can_be_set() -> None:
    assert isinstance(resolved({"method": {"type": "grpo"}}).config.method, GrpoConfig)


def test_changes_leave_the_original_as_it_was() -> None:
    explicit = {"method": {"type": "bapo", "filter": {"type": "range"}}}
    apply_changes(explicit, {"method.filter.type": "uniform"})
    assert explicit == {"method": {"type": "bapo", "filter": {"type": "range"}}}


def test_a_path_through_a_value_is_refused() -> None:
    with pytest.raises(ConfigError, match="steps is a value, not a section"):
        apply_changes(TRAINING, {"training.steps.more": 1})


@pytest.mark.parametrize("method", ["grpo", 5, [1], None])
def test_a_method_that_is_no_section_is_refused_not_followed(method: Any) -> None:
    with pytest.raises(ConfigError, match="must hold fields"):
        resolved({"method": method})


def test_a_resolved_config_keeps_what_was_set_apart_from_the_defaults() -> None:
    found = resolved({"method.c1": "1/4"})
    assert found.explicit == {"training": {"steps": 1}, "method": {"c1": "1/4"}}
    assert isinstance(found.config.method, BapoConfig)
    assert found.config.method.c1 == Fraction(1, 4)


# ---------------------------------------------------------------- command line


def test_assignments_are_json_or_else_text() -> None:
    written = ["method.c1=0.25", 'method.c2=["1/8", 0.5]', "method.type=grpo", "loss.dual_clip=null", "model.path=a=b"]
    assert parse_assignments(written) == {
        "method.c1": 0.25,
        "method.c2": ["1/8", 0.5],
        "method.type": "grpo",
        "loss.dual_clip": None,
        "model.path": "a=b",
    }


@pytest.mark.parametrize("assignment", ["method.c1", "=0.25", ""])
def test_an_assignment_needs_a_field_and_a_value(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"write FIELD=VALUE, such as method\.c1=0\.25"):
        parse_assignments([assignment])


def test_a_number_too_long_for_python_is_left_for_the_check() -> None:
    digits = "9" * 5000
    with pytest.raises(ConfigError, match=r"training\.seed"):
        resolved(parse_assignments([f"training.seed={digits}"]))


# ---------------------------------------------------------------- difference


def test_difference_names_fields_with_both_values() -> None:
    parent = resolved({}).config
    child = resolved({"method.c1": 0.25, "training.seed": 7}).config
    assert difference(child, parent) == {"method.c1": (0.125, 0.25), "training.seed": (42, 7)}
    assert difference(parent, parent) == {}


def test_difference_between_methods_shows_missing_fields_as_none() -> None:
    changes = difference(resolved({"method.type": "grpo_delayed"}).config, resolved({}).config)
    assert changes["method.type"] == ("bapo", "grpo_delayed")
    assert changes["method.c1"] == (0.125, None)
    assert "method.v" not in changes


def test_equal_fractions_do_not_differ_however_they_are_written() -> None:
    assert difference(resolved({"method.c1": "2/16"}).config, resolved({"method.c1": 0.125}).config) == {}


def test_flatten_gives_dotted_fields() -> None:
    assert flatten({"a": {"b": 1, "c": {"d": [2]}}, "e": None}) == {"a.b": 1, "a.c.d": [2], "e": None}


def test_a_flattened_config_applied_as_changes_is_the_same_config() -> None:
    config = resolved({"method.c1": "1/3", "training.epochs": 2, "training.steps": None}).config
    changes = flatten(json.loads(config.model_dump_json()))
    assert RunConfig.model_validate(apply_changes({}, changes)) == config


def test_of_very_many_problems_the_first_are_told_and_how_many_there_are_besides() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({f"field_{number}": 1 for number in range(MOST_PROBLEMS + 5)})
    problems = caught.value.problems
    assert len(problems) == MOST_PROBLEMS + 1
    assert problems[0].field == "field_0"
    assert problems[-1].remedy == "5 more problems are not shown: correct these first"


def test_the_digest_is_of_the_values_whatever_their_order() -> None:
    config = resolved({}).config.model_dump(mode="json")
    assert config_digest(dict(reversed(config.items()))) == config_digest(json.loads(json.dumps(config)))
    # SHA-256 of {"a": 1.0}.
    assert config_digest({"a": 1.0}) == hashlib.sha256(b'{"a": 1.0}').hexdigest()
    assert config_digest(resolved({"training.seed": 7}).config.model_dump(mode="json")) != config_digest(config)
