from __future__ import annotations

from itertools import pairwise

import pytest

from bapo.config.objective import LengthPenalty
from tests.support.late_imports import late_imports

with late_imports():
    import torch

    from bapo.advantages import group_advantages, shaped_rewards


def test_rewards_are_standardised_with_the_population_variance() -> None:
    # Group 1: mean 1/4, variance (1·(3/4)² + 3·(1/4)²)/4 = 3/16. Â = 0.75/sqrt(0.1875 + 1e-6) = 1.732046 for the
    # correct one and -0.25/0.433014 = -0.577349 for the others. Group 2: mean 1/2, variance 1/4, Â = ±0.999998.
    advantages = group_advantages(torch.tensor([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]))
    assert advantages[0].tolist() == pytest.approx([1.732046, -0.577349, -0.577349, -0.577349], abs=2e-6)
    assert advantages[1].tolist() == pytest.approx([0.999998, -0.999998, 0.999998, -0.999998], abs=2e-7)


@pytest.mark.parametrize("reward", [0.0, 1.0, 0.1])
def test_homogeneous_groups_have_advantages_of_exactly_zero(reward: float) -> None:
    # The float32 mean of seven times 0.1 is not 0.1.
    assert group_advantages(torch.full((1, 7), reward)).tolist() == [[0.0] * 7]


def test_groups_do_not_see_one_another() -> None:
    rewards = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    together = group_advantages(rewards)
    assert all(torch.equal(group_advantages(rewards[i : i + 1])[0], together[i]) for i in range(3))


def test_the_last_tokens_before_the_limit_cost_reward_linearly() -> None:
    # L_max = 20, L_cache = 4, p = 2: nothing up to 16 tokens, then 2/4 per token, 2 at the limit.
    penalty = LengthPenalty(limit_tokens=20, buffer_tokens=4, penalty=2.0)
    assert shaped_rewards([1, 1, 1, 0, 1], [1, 16, 17, 18, 20], penalty) == [1, 1, 0.5, -1, -1]
    # Beyond the limit no more than at it.
    assert shaped_rewards([1, 0], [21, 99], penalty) == [-1, -2]
    assert shaped_rewards([1, 0], [20, 20], None) == [1, 0]


def test_a_buffer_as_long_as_the_response_falls_from_the_first_token() -> None:
    rewards = shaped_rewards([0] * 10, list(range(1, 11)), LengthPenalty(10, 10, 1.0))
    assert rewards[-1] == -1
    assert all(later - earlier == pytest.approx(-0.1) for earlier, later in pairwise(rewards))


def test_among_right_answers_of_a_group_the_longer_has_less_advantage() -> None:
    rewards = shaped_rewards([1, 1, 0, 0], [5, 9, 5, 10], LengthPenalty(10, 2, 1.0))
    assert rewards == [1, 0.5, 0, -1]
    # Mean 1/8, variance (49 + 9 + 1 + 81)/64/4 = 0.546875, deviation 0.739510.
    assert group_advantages(torch.tensor([rewards]))[0].tolist() == pytest.approx(
        [1.183216, 0.507092, -0.169031, -1.521277], abs=2e-5
    )
