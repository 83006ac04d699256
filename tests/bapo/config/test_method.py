from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from bapo.filters import FilterConfig
from bapo.methods.bapo import BapoConfig, DifficultBufferConfig, HighQualityBufferConfig
from bapo.methods.grpo import GrpoConfig, GrpoDelayedConfig

BELOW_ONE = Fraction(10**9 - 1, 10**9)


def test_defaults_are_table_3() -> None:
    method = BapoConfig()
    assert (method.v, method.m, method.c1, method.max_reevaluated_prompts) == (5, 5, Fraction(1, 8), 128)
    assert method.c2 == (Fraction(1, 8), Fraction(4, 8))
    assert method.c3 == (Fraction(2, 8), Fraction(5, 8))
    assert (method.filter.type, method.filter.mean, method.filter.std) == ("range", 0.5, 0.2)
    assert method.high_quality_buffer.max_age_steps == 3


@pytest.mark.parametrize("c1", [0, "0", BELOW_ONE, "999999999/1000000000"])
def test_c1_may_be_any_accuracy_below_one(c1: Any) -> None:
    assert 0 <= BapoConfig(c1=c1).c1 < 1


@pytest.mark.parametrize("c1", [1, 1.0, "8/8", -0.001, "-1/8", 2])
def test_c1_of_one_or_below_zero_is_refused(c1: Any) -> None:
    with pytest.raises(ValidationError, match="at least 0 and less than 1"):
        BapoConfig(c1=c1)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("value", [1, -0.125])
def test_c2_and_c3_are_accuracies_below_one_at_both_ends(end: int, value: float) -> None:
    bounds: list[Any] = ["1/2", "1/2"]
    bounds[end] = value
    with pytest.raises(ValidationError, match="at least 0 and less than 1"):
        BapoConfig.model_validate({"c2": bounds})
    with pytest.raises(ValidationError, match="at least 0 and less than 1"):
        BapoConfig.model_validate({"c3": bounds})


def test_c2_may_be_zero_and_both_thresholds_may_be_equal() -> None:
    # Table 2 runs c2 = 0 with c3 = 0.25.
    assert BapoConfig.model_validate({"c2": [0, 0], "c3": [0.25, 0.25]}).c2 == (Fraction(0), Fraction(0))
    assert BapoConfig.model_validate({"c2": ["1/2", "1/2"], "c3": ["1/2", "1/2"]}).c3 == (Fraction(1, 2),) * 2


@pytest.mark.parametrize(
    ("c2", "c3", "r_tot"),
    [
        (["3/8", "4/8"], ["2/8", "5/8"], 0),
        (["1/8", "6/8"], ["2/8", "5/8"], 1),
        # In order at both float roundings, not in exact arithmetic: 0.30000000000000004 > 3/10.
        ([0.30000000000000004, 0.3], [0.3, 0.3], 0),
    ],
)
def test_c2_above_c3_at_some_r_tot_is_refused(c2: list[Any], c3: list[Any], r_tot: int) -> None:
    # Both are linear in r_tot, so they cross somewhere in [0, 1] only if they are out of order at an end.
    with pytest.raises(ValidationError, match=rf"above c3 = .* at r_tot = {r_tot}"):
        BapoConfig.model_validate({"c2": c2, "c3": c3})


def test_ranges_may_fall_with_r_tot() -> None:
    method = BapoConfig.model_validate({"c2": ["4/8", "1/8"], "c3": ["5/8", "2/8"]})
    assert method.c2 == (Fraction(4, 8), Fraction(1, 8))


@pytest.mark.parametrize("c2", [0.125, ["1/8"], ["1/8", "2/8", "3/8"], "1/8", {"low": 0, "high": 1}, None])
def test_a_range_is_two_values(c2: Any) -> None:
    with pytest.raises(ValidationError, match="must be two values, at r_tot = 0 and at r_tot = 1"):
        BapoConfig.model_validate({"c2": c2})


@pytest.mark.parametrize("field", ["v", "m"])
def test_v_and_m_are_at_least_one_step(field: str) -> None:
    assert getattr(BapoConfig.model_validate({field: 1}), field) == 1
    for illegal in (0, -1, 1.5, "x"):
        with pytest.raises(ValidationError):
            BapoConfig.model_validate({field: illegal})


def test_grpo_takes_no_v_and_grpo_delayed_does() -> None:
    assert GrpoDelayedConfig(v=2).v == 2
    with pytest.raises(ValidationError, match="Extra inputs"):
        GrpoConfig.model_validate({"v": 2})


@pytest.mark.parametrize("capacity", [0, -1])
def test_buffers_hold_at_least_one_entry(capacity: int) -> None:
    assert DifficultBufferConfig(capacity=1).capacity == 1
    with pytest.raises(ValidationError):
        DifficultBufferConfig(capacity=capacity)
    with pytest.raises(ValidationError):
        HighQualityBufferConfig(capacity=capacity)
    with pytest.raises(ValidationError):
        HighQualityBufferConfig(max_age_steps=capacity)


@pytest.mark.parametrize("share", [0, 1.01])
def test_the_uniform_filter_keeps_a_share_of_at_most_all(share: float) -> None:
    assert FilterConfig(share=1).share == 1
    with pytest.raises(ValidationError):
        FilterConfig(share=share)


def test_only_reevaluated_and_reused_can_be_left_out() -> None:
    assert BapoConfig.model_validate({"without": ["reused", "reevaluated"]}).without == {"reused", "reevaluated"}
    with pytest.raises(ValidationError):
        BapoConfig.model_validate({"without": ["fresh"]})
