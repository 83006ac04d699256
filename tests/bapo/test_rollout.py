from __future__ import annotations

from fractions import Fraction

import pytest

from bapo.rollout import RolloutGroup


def test_accuracy_is_exact() -> None:
    assert RolloutGroup("p", 3, 10, 0, 1).accuracy == Fraction(3, 10)


@pytest.mark.parametrize(("num_correct", "homogeneous"), [(0, True), (1, False), (7, False), (8, True)])
def test_equal_rewards_make_a_homogeneous_group(num_correct: int, homogeneous: bool) -> None:
    assert RolloutGroup("p", num_correct, 8, 0, 1).is_homogeneous is homogeneous


@pytest.mark.parametrize("num_correct", [-1, 9])
def test_more_correct_responses_than_responses_are_refused(num_correct: int) -> None:
    with pytest.raises(ValueError, match=f"must lie in 0..8, not {num_correct}"):
        RolloutGroup("p", num_correct, 8, 0, 1)
