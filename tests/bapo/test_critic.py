from __future__ import annotations

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor

    from bapo.critic import explained_variance, generalized_advantages, value_loss, whitened


def estimates(
    rewards: list[float], values: list[float], lengths: list[int], discount: float, gae_lambda: float
) -> tuple[list[float], list[float]]:
    advantages, returns = generalized_advantages(
        torch.tensor(rewards), torch.tensor(values), lengths, discount=discount, gae_lambda=gae_lambda
    )
    return advantages.tolist(), returns.tolist()


def test_with_lambda_and_discount_1_the_return_is_the_reward() -> None:
    advantages, returns = estimates([1, 0], [0.25, 0.5, 0.75, 0.125, 0.5], [3, 2], 1, 1)
    assert returns == [1, 1, 1, 0, 0]
    assert advantages == [0.75, 0.5, 0.25, -0.125, -0.5]


def test_with_lambda_0_the_advantage_is_one_step_of_temporal_difference() -> None:
    # γ = 0.5: δ = 0.5·0.5 - 0.25 = 0; 0.5·0.75 - 0.5 = -0.125; 1 - 0.75 = 0.25.
    advantages, returns = estimates([1], [0.25, 0.5, 0.75], [3], 0.5, 0)
    assert advantages == [0, -0.125, 0.25]
    assert returns == [0.25, 0.375, 1]


def test_generalised_advantages_worked_by_hand_in_responses_of_unequal_length() -> None:
    # γ = 0.5, λ = 0.5, γλ = 0.25. First: Â_3 = 1 - 0.75 = 0.25, Â_2 = -0.125 + 0.25·0.25 = -0.0625,
    # Â_1 = 0 - 0.25·0.0625 = -0.015625. Second, one token: 0 - 0.5. Third: Â_2 = 1 - 0.5, Â_1 = 0.5·0.5 - 1 + 0.125.
    advantages, returns = estimates([1, 0, 1], [0.25, 0.5, 0.75, 0.5, 1.0, 0.5], [3, 1, 2], 0.5, 0.5)
    assert advantages == [-0.015625, -0.0625, 0.25, -0.5, -0.625, 0.5]
    assert returns == [0.234375, 0.4375, 1.0, 0.0, 0.375, 1.0]


def test_whitening_takes_the_sample_variance() -> None:
    # Mean 2, deviations -1, 0, 1, sample variance (1 + 0 + 1) / 2 = 1.
    assert whitened(torch.tensor([1.0, 2.0, 3.0])).tolist() == pytest.approx([-1, 0, 1])
    assert whitened(torch.tensor([0.5])).tolist() == [0]
    assert whitened(torch.full((4,), 0.5)).tolist() == [0] * 4


def loss_of(values: Tensor, value_clip: float = 0.5) -> tuple[Tensor, list[bool]]:
    old_values, returns = torch.tensor([0.0, 0.0, 1.0, 0.0]).to(values), torch.tensor([1.0, 1.0, 0.0, -1.0]).to(values)
    output = value_loss(values, old_values, returns, torch.full_like(old_values, 0.25), value_clip=value_clip)
    return output.loss, output.is_clipped.tolist()


def test_value_loss_takes_the_larger_of_the_plain_and_the_clipped_error() -> None:
    # Towards R = 1 from V_old = 0: V = 0.25 is within ±0.5, error 0.75². V = 0.75 is cut to 0.5: max(0.25², 0.5²).
    # Towards 0 from 1: 0.25 is cut to 0.5: 0.5². Away from -1: 1 is cut to 0.5: max(2², 1.5²), the plain one counts.
    loss, is_clipped = loss_of(torch.tensor([0.25, 0.75, 0.25, 1.0]))
    assert loss.item() == pytest.approx(0.5 * (0.5625 + 0.25 + 0.25 + 4) / 4)
    assert is_clipped == [False, True, True, False]


def test_gradient_of_the_value_loss_is_that_of_finite_differences() -> None:
    values = torch.tensor([0.25, 0.75, 0.25, 1.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda each: loss_of(each)[0], values)
    (gradient,) = torch.autograd.grad(loss_of(values)[0], values)
    # (V - R) / 4 where the plain error counts, 0 where the clipped one does.
    assert gradient.tolist() == pytest.approx([-0.75 / 4, 0, 0, 2 / 4])


def test_explained_variance_of_perfect_constant_and_opposite_values() -> None:
    returns = torch.tensor([1.0, 0.0, 1.0, 0.0])
    assert explained_variance(returns + 3, returns) == pytest.approx(1)
    assert explained_variance(torch.full((4,), 0.7), returns) == pytest.approx(0)
    # Var(R - V) = Var(2R - 1) = 4·Var(R).
    assert explained_variance(1 - returns, returns) == pytest.approx(-3)
    assert explained_variance(returns, torch.zeros(4)) is None
