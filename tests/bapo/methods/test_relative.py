from __future__ import annotations

import math

import pytest

from bapo.methods.relative import relative_advantages
from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.advantages import group_advantages


def test_one_success_of_four_is_standardised_with_the_population_variance() -> None:
    # μ = 1/4, var = 3/16.
    deviation = math.sqrt(3 / 16 + 1e-6)
    assert relative_advantages([1, 0, 0, 0]) == pytest.approx([0.75 / deviation] + [-0.25 / deviation] * 3)


@pytest.mark.parametrize("rewards", [[0, 0, 0], [1, 1], [1]])
def test_equal_rewards_have_advantages_of_exactly_zero(rewards: list[int]) -> None:
    assert relative_advantages(rewards) == (0.0,) * len(rewards)


@pytest.mark.parametrize("rewards", [[1, 0], [0, 1, 1, 0, 1], [0] * 7 + [1]])
def test_they_are_those_of_a_group_of_its_own(rewards: list[int]) -> None:
    expected = group_advantages(torch.tensor([rewards], dtype=torch.float64))[0].tolist()
    assert relative_advantages(rewards) == pytest.approx(expected, abs=1e-12)
