from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from bapo.config import ConfigError, RunConfig, resolve
from bapo.config.objective import Clipped, LengthPenalty
from bapo.methods.bapo import BapoConfig

STEPS = {"steps": 1}


def config(**sections: Any) -> RunConfig:
    return RunConfig.model_validate({"training": STEPS, **sections})


def test_an_empty_config_is_the_demo_with_bapo() -> None:
    defaults = RunConfig()
    assert isinstance(defaults.method, BapoConfig)
    assert (defaults.rollout.group_size, defaults.training.batch_size, defaults.training.steps) == (8, 32, 150)


def test_a_method_section_without_a_type_is_bapo() -> None:
    method = config(method={"m": 3}).method
    assert isinstance(method, BapoConfig)
    assert method.m == 3


@pytest.mark.parametrize("illegal", [0, -1, 0.5])
def test_batches_hold_at_least_one_prompt(illegal: float) -> None:
    smallest = config(training={**STEPS, "batch_size": 1}, rollout={"batch_size": 1})
    assert smallest.training.batch_size == smallest.rollout.batch_size == 1
    with pytest.raises(ValidationError):
        config(training={**STEPS, "batch_size": illegal})
    with pytest.raises(ValidationError):
        config(rollout={"batch_size": illegal})


def test_a_group_has_at_least_two_responses() -> None:
    # With one response every group is homogeneous, and no advantage is ever other than 0.
    assert config(rollout={"group_size": 2}).rollout.group_size == 2
    with pytest.raises(ValidationError):
        config(rollout={"group_size": 1})


@pytest.mark.parametrize("training", [{"steps": None}, {"steps": 3, "epochs": 1}])
def test_the_length_is_given_exactly_once(training: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"training.steps: give exactly one"):
        RunConfig.model_validate({"training": training})


@pytest.mark.parametrize("training", [{"steps": 3}, {"epochs": 2}])
def test_either_length_will_do(training: dict[str, Any]) -> None:
    RunConfig.model_validate({"training": training})


def test_bapo_mini_needs_an_even_group_size() -> None:
    config(method={"type": "bapo_mini"}, rollout={"group_size": 6})
    with pytest.raises(ValidationError, match=r"rollout.group_size: .*accuracy exactly 1/2"):
        config(method={"type": "bapo_mini"}, rollout={"group_size": 7})


@pytest.mark.parametrize(
    ("method", "aggregation"),
    [
        ("grpo", "response-mean"),
        ("grpo_delayed", "response-mean"),
        ("gspo", "response-mean"),
        ("mopps", "response-mean"),
        ("dapo", "token-mean"),
        ("bapo", "token-mean"),
        ("bapo_mini", "token-mean"),
    ],
)
def test_each_method_has_its_own_loss_aggregation(method: str, aggregation: str) -> None:
    assert config(method={"type": method}).objective.aggregation == aggregation
    named = config(method={"type": method}, loss={"aggregation": "token-mean"})
    assert named.objective.aggregation == "token-mean"


def test_the_kl_penalty_is_to_the_methods_own_policy_unless_the_config_says() -> None:
    # Eq. 3 for BAPO, Eq. 1 for its baselines, and ReMix's mean of both.
    loss = {"kl_coefficient": 0.001}
    shares = {
        method: config(method={"type": method}, loss=loss).objective.kl_reference_share
        for method in ("bapo", "bapo_mini", "ba_ppo", "grpo", "grpo_delayed", "dapo", "gspo", "ppo", "remix")
    }
    assert shares == {"bapo": 0, "bapo_mini": 0, "ba_ppo": 0, "remix": 0.5} | dict.fromkeys(
        ("grpo", "grpo_delayed", "dapo", "gspo", "ppo"), 1
    )
    for kl_to, share in (("behaviour", 0), ("reference", 1)):
        for method in ("bapo", "grpo", "remix"):
            objective = config(method={"type": method}, loss={**loss, "kl_to": kl_to}).objective
            assert (objective.kl_reference_share, objective.needs_reference) == (share, bool(share))
    # Without a coefficient there is no copy of the base model.
    assert not config(method={"type": "grpo"}).objective.needs_reference


def test_dapo_and_gspo_have_clip_ranges_of_their_own() -> None:
    ranges = {
        method: (objective.surrogate, objective.ratio_level)
        for method in ("grpo", "dapo", "gspo", "mopps")
        for objective in (config(method={"type": method}).objective,)
    }
    assert ranges == {
        "grpo": (Clipped(0.2, 0.2), "token"), "mopps": (Clipped(0.2, 0.2), "token"),
        "dapo": (Clipped(0.2, 0.28), "token"), "gspo": (Clipped(3e-4, 4e-4), "sequence"),
    }  # fmt: skip
    own = config(method={"type": "gspo"}, loss={"clip_low": 0.1, "ratio_level": "token"}).objective
    assert (own.surrogate, own.ratio_level) == (Clipped(0.1, 4e-4), "token")


def test_an_overlong_buffer_fits_into_the_response() -> None:
    method = {"type": "dapo", "overlong_buffer_tokens": 8, "overlong_penalty": 0.5}
    assert config(method=method, rollout={"max_response_tokens": 8}).length_penalty == LengthPenalty(8, 8, 0.5)
    with pytest.raises(ValidationError, match=r"method.overlong_buffer_tokens: responses have at most 7 tokens"):
        config(method=method, rollout={"max_response_tokens": 7})
    assert config(method={"type": "dapo"}).length_penalty is None
    assert config(method={"type": "grpo"}).length_penalty is None


def test_a_config_survives_json_exactly() -> None:
    original = config(method={"c1": "1/3", "c2": ["1/7", 0.3], "c3": ["2/7", "1/2"], "without": ["reused"]})
    written = json.dumps(original.model_dump(mode="json"))
    assert RunConfig.model_validate(json.loads(written)) == original
    assert resolve(json.loads(original.model_dump_json())).config == original


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        config().training.batch_size = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"rollout": {"max_segment_tokens": 31}}, "at most 16 segments: give 32 to 512"),
        ({"rollout": {"max_segment_tokens": 513}}, "give 32 to 512"),
        ({"method": {"type": "dapo"}}, "DAPO needs all answers to its prompts in the step that asks"),
        ({"method": {"type": "probe"}, "training": {"steps": 1}}, "Probe needs all answers"),
        ({"rollout": {"ahead": "window"}}, "rollout.ahead = window needs whole responses: set it to off"),
        ({"engine": {"type": "verl"}}, "set engine.type to local"),
    ],
)
def test_segments_that_do_not_fit_the_run_are_refused(given: dict[str, Any], remedy: str) -> None:
    # 512 / 16 = 32 tokens.
    rollout = {"max_response_tokens": 512, "max_segment_tokens": 64, **given.get("rollout", {})}
    with pytest.raises(ConfigError) as refused:
        resolve({**given, "rollout": rollout})
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("rollout.max_segment_tokens", rollout["max_segment_tokens"])
    assert remedy in problem.remedy


@pytest.mark.parametrize("method", ["bapo", "grpo", "mopps", "dots", "ppo"])
def test_a_run_with_partial_rollouts_declares_its_schedule(method: str) -> None:
    rollout = {"max_response_tokens": 512, "max_segment_tokens": 100}
    warnings = resolve({"method": {"type": method}, "rollout": rollout}).config.warnings
    (warning,) = [each for each in warnings if each.field == "rollout.max_segment_tokens"]
    # 512 tokens are 5 segments of 100 and a rest.
    assert "begun up to 5 steps earlier" in warning.remedy


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"rollout": {"repetition_tokens": 7}}, "8 repetitions (rollout.repetition_count) are at least as many tokens"),
        ({"rollout": {"repetition_tokens": 64}, "engine": {"type": "verl"}}, "set engine.type to local"),
    ],
)
def test_a_repetition_stop_that_cannot_act_is_refused(given: dict[str, Any], remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(given)
    (problem,) = refused.value.problems
    assert (problem.field, problem.value) == ("rollout.repetition_tokens", given["rollout"]["repetition_tokens"])
    assert remedy in problem.remedy
