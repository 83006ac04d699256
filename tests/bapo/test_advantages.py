import pytest
import torch

from bapo.advantages import group_advantages


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
