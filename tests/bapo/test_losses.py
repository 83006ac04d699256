from __future__ import annotations

import math
from typing import Any

import pytest

from bapo.config.objective import Clipped, DecoupledClip, Objective, ShiftedClip
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor

    from bapo.losses import LossInputs, LossOutput, kl_penalty, policy_loss, token_weights


def loss_of(
    ratios: list[float],
    advantages: list[float],
    entropies: list[float] | None = None,
    lengths: list[int] | None = None,
    reference: list[float] | None = None,
    current: list[float] | None = None,
    **config: Any,
) -> tuple[LossOutput, Tensor]:
    """The loss of tokens with these ratios, each of weight 1, and its gradient by log π_θ."""
    rollout = torch.full((len(ratios),), -1.5, dtype=torch.float64)
    policy = (rollout + torch.tensor(ratios, dtype=torch.float64).log()).requires_grad_()
    output = policy_loss(
        LossInputs(
            policy,
            rollout,
            torch.tensor(advantages, dtype=torch.float64),
            torch.tensor(entropies or [0.0] * len(ratios), dtype=torch.float64),
            torch.ones(len(ratios), dtype=torch.float64),
            lengths or [1] * len(ratios),
            None if reference is None else torch.tensor(reference, dtype=torch.float64),
            None if current is None else torch.tensor(current, dtype=torch.float64),
        ),
        Objective(**config),
    )
    (gradient,) = torch.autograd.grad(output.loss, policy)
    return output, gradient


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "is_clipped"),
    [
        # Within the range: -ρ·Â, gradient by log π_θ the same.
        (1.0, 2.0, -2.0, -2.0, False),
        (1.1, 2.0, -2.2, -2.2, False),
        (0.9, -2.0, 1.8, 1.8, False),
        # Each side of 1 + ε_high = 1.3 with a positive advantage: -min(ρ·Â, 1.3·Â).
        (1.29, 1.0, -1.29, -1.29, False),
        (1.31, 1.0, -1.3, 0.0, True),
        # Each side of 1 - ε_low = 0.8 with a negative one: max(ρ, 0.8)·|Â|.
        (0.81, -1.0, 0.81, 0.81, False),
        (0.79, -1.0, 0.8, 0.0, True),
        # The pessimistic side is never clipped.
        (0.5, 1.0, -0.5, -0.5, False),
        (2.0, -1.0, 2.0, 2.0, False),
        # Without advantage there is nothing to clip.
        (2.0, 0.0, 0.0, 0.0, False),
    ],
)
def test_clipping_takes_the_gradient_only_outside_and_only_upwards(
    ratio: float, advantage: float, loss: float, gradient: float, is_clipped: bool
) -> None:
    output, gradients = loss_of([ratio], [advantage], surrogate=Clipped(0.2, 0.3))
    assert output.loss.item() == pytest.approx(loss)
    assert gradients.tolist() == pytest.approx([gradient])
    assert output.is_clipped.tolist() == [is_clipped]
    assert output.ratios.tolist() == pytest.approx([ratio])


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "is_clipped"),
    [
        # Dual clip 3: a negative advantage's loss ρ·|Â| is at most 3·|Â|.
        (2.9, -2.0, 5.8, False),
        (3.1, -2.0, 6.0, True),
        (3.1, 2.0, -2.4, True),  # clipped above at 1.2, not by the dual clip
        (0.1, -2.0, 1.6, True),  # clipped below at 0.8
    ],
)
def test_dual_clip_bounds_the_loss_of_negative_advantages(
    ratio: float, advantage: float, loss: float, is_clipped: bool
) -> None:
    output, gradient = loss_of([ratio], [advantage], surrogate=Clipped(dual_clip=3.0))
    assert output.loss.item() == pytest.approx(loss)
    assert output.is_clipped.tolist() == [is_clipped]
    assert (gradient.item() == 0) == is_clipped


def test_kl_estimators_have_their_closed_form() -> None:
    # π/q = 2: k3 = 1/2 - 1 + ln 2 = 0.193147; 1: 0. Unbiased: ρ times that, with ρ = 2 for q = b (2·ln 2 - 1) and 3.
    to_target = torch.tensor([math.log(2.0), 0.0], dtype=torch.float64)
    ratios = torch.full((2,), math.log(3.0), dtype=torch.float64)
    assert kl_penalty(to_target, to_target, "unbiased").tolist() == pytest.approx([0.386294361, 0.0], abs=1e-9)
    assert kl_penalty(ratios, to_target, "unbiased").tolist() == pytest.approx([0.579441542, 0.0], abs=1e-9)
    assert kl_penalty(ratios, to_target, "low_var_kl").tolist() == pytest.approx([0.193147181, 0.0], abs=1e-9)


def test_low_variance_kl_is_cut_at_ten() -> None:
    # ρ = e^-2: e² - 1 - 2 = 4.389; ρ = e^-3: e³ - 1 - 3 = 16.09 → 10.
    log_ratios = torch.tensor([-2.0, -3.0])
    assert kl_penalty(log_ratios, log_ratios, "low_var_kl").tolist() == pytest.approx([4.389056, 10.0])


@pytest.mark.parametrize("target", [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], ids=["behaviour", "reference"])
def test_unbiased_kl_is_unbiased_in_value_and_gradient_for_tokens_of_the_behaviour_policy(target: list[float]) -> None:
    # Exact expectation over b = (0.5, 0.3, 0.2), compared with KL(π ‖ q) and its gradient by the logits.
    logits = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64, requires_grad=True)
    behaviour = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    log_policy = torch.log_softmax(logits, 0)
    log_target = torch.tensor(target, dtype=torch.float64).log()
    estimate = (behaviour * kl_penalty(log_policy - behaviour.log(), log_policy - log_target, "unbiased")).sum()
    exact = (log_policy.exp() * (log_policy - log_target)).sum()
    torch.testing.assert_close(estimate, exact)
    torch.testing.assert_close(
        *(torch.autograd.grad(value, logits, retain_graph=True)[0] for value in (estimate, exact))
    )


@pytest.mark.parametrize(("estimator", "penalty"), [("unbiased", 0.386294361), ("low_var_kl", 0.193147181)])
def test_kl_penalty_is_added_with_its_coefficient(estimator: str, penalty: float) -> None:
    output, _ = loss_of([2.0], [0.0], kl_coefficient=0.1, kl_estimator=estimator)
    assert output.loss.item() == pytest.approx(0.1 * penalty)
    # Recorded is the unbiased estimate, whatever the penalty's.
    assert output.kl.tolist() == pytest.approx([0.386294361])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_kl_penalty_is_to_the_reference_by_its_share(share: float) -> None:
    # π = 2·b = 2e·π_ref: to b 2·ln 2 - 1; to π_ref 2·(1/(2e) - 1 + ln 2 + 1) = 1/e + 2·ln 2 = 1.754174.
    to_reference = 1 / math.e + 2 * math.log(2)
    output, _ = loss_of([2.0], [0.0], reference=[-2.5], kl_coefficient=0.1, kl_reference_share=share)
    expected = (1 - share) * (2 * math.log(2) - 1) + share * to_reference
    assert output.loss.item() == pytest.approx(0.1 * expected)
    assert output.reference_kl is not None
    assert output.reference_kl.tolist() == pytest.approx([to_reference])


def test_a_shifted_clip_range_lies_around_the_ratio_before_the_update() -> None:
    # b = e^-1.5 and π_k = 1.5·b: the range is 1.3 to 1.7. A ratio of 1.6 is within it, 1.8 and 1.2 are not; around 1,
    # 1.6 would be clipped and 1.2 not.
    current = [-1.5 + math.log(1.5)] * 3
    output, gradient = loss_of([1.6, 1.8, 1.2], [1.0, 1.0, -1.0], current=current, surrogate=ShiftedClip())
    assert output.loss.item() == pytest.approx(-1.6 - 1.7 + 1.3)
    assert output.is_clipped.tolist() == [False, True, True]
    assert gradient.tolist() == pytest.approx([-1.6, 0.0, 0.0])


def test_a_ratio_to_the_policy_before_the_update_is_weighed_by_how_far_that_one_is_from_the_behaviour_policy() -> None:
    # π_k = 2·b and 5·b: weights 2 and, capped, 3. π_θ/π_k = 1.1 within the range, 1.3 above 1.2.
    current = [-1.5 + math.log(2.0), -1.5 + math.log(5.0)]
    output, gradient = loss_of([2.2, 6.5], [1.0, 1.0], current=current, surrogate=DecoupledClip(cap=3.0))
    assert output.loss.item() == pytest.approx(-2 * 1.1 - 3 * 1.2)
    assert output.ratios.tolist() == pytest.approx([1.1, 1.3])
    assert gradient.tolist() == pytest.approx([-2.2, 0.0])


def test_entropy_bonus_is_subtracted_with_its_coefficient() -> None:
    assert loss_of([1.0], [1.0], entropies=[2.5], entropy_coefficient=0.01)[0].loss.item() == pytest.approx(-1.025)
    assert loss_of([1.0], [1.0], entropies=[2.5])[0].loss.item() == pytest.approx(-1.0)


def test_ratios_stay_finite() -> None:
    output, gradient = loss_of([math.exp(30), math.exp(-30)], [-1.0, 1.0])
    # Cut at e^20 = 4.85e8; below, e^-20.
    assert output.ratios.tolist() == pytest.approx([math.exp(20), math.exp(-20)])
    assert gradient.tolist() == [0.0, 0.0]


def test_gradient_agrees_with_finite_differences() -> None:
    torch.manual_seed(0)
    rollout, advantages = torch.randn(2, 12, dtype=torch.float64)
    policy = (rollout + 0.3 * torch.randn(12, dtype=torch.float64)).requires_grad_()
    entropies = torch.rand(12, dtype=torch.float64, requires_grad=True)
    weights = torch.rand(12, dtype=torch.float64)
    config = Objective(Clipped(dual_clip=1.5), kl_coefficient=0.1, entropy_coefficient=0.2)

    def loss(policy: Tensor, entropies: Tensor) -> Tensor:
        return policy_loss(LossInputs(policy, rollout, advantages, entropies, weights, [1] * len(weights)), config).loss

    assert torch.autograd.gradcheck(loss, (policy, entropies))


def test_on_policy_gradient_is_that_of_the_policy_gradient() -> None:
    # ρ = 1: ∇L = -Σ w·Â·∇log π.
    _, gradient = loss_of([1.0, 1.0], [0.5, -2.0])
    assert gradient.tolist() == pytest.approx([-0.5, 2.0])


def test_token_mean_weighs_every_token_alike() -> None:
    # 3 + 1 of 8 tokens in the mini-batch.
    weights = token_weights([3, 1], "token-mean", num_tokens=8, num_responses=4)
    assert weights.tolist() == [0.125] * 4


def test_response_mean_weighs_every_response_alike() -> None:
    # Two of four responses: 1/(4·2) per token of the one with two tokens, 1/(4·1) for the other.
    weights = token_weights([2, 1], "response-mean", num_tokens=8, num_responses=4)
    assert weights.tolist() == [0.125, 0.125, 0.25]


@pytest.mark.parametrize("aggregation", ["token-mean", "response-mean"])
def test_weights_of_a_whole_mini_batch_add_up_to_one(aggregation: Any) -> None:
    weights = token_weights([5, 2, 9], aggregation, num_tokens=16, num_responses=3)
    assert weights.sum().item() == pytest.approx(1.0)


def test_a_sequence_ratio_is_the_geometric_mean_of_its_tokens_and_clipped_as_a_whole() -> None:
    # Responses of 2 and 1 tokens: √(1.2·0.8) = 0.9798 within the range for a negative advantage; 1.3 above it for a
    # positive one.
    output, gradient = loss_of(
        [1.2, 0.8, 1.3], [-1.0, -1.0, 1.0], lengths=[2, 1], ratio_level="sequence", surrogate=Clipped(0.1, 0.1)
    )
    mean = math.sqrt(1.2 * 0.8)
    assert output.ratios.tolist() == pytest.approx([mean, mean, 1.3])
    assert output.is_clipped.tolist() == [False, False, True]
    assert output.loss.item() == pytest.approx(2 * mean - 1.1)
    # Each token of the first response has half of the ratio of each of its two summands.
    assert gradient.tolist() == pytest.approx([mean, mean, 0.0])


def test_the_gradient_of_a_sequence_ratio_is_that_of_eq_5() -> None:
    # arXiv:2507.18071, Eq. (10): a response adds s·Â·(1/|y|)·Σ_t ∇log π. Two responses of 3 and 1 tokens within the
    # range, weights 1/(2·|y|): every token of the first has -s·Â/(2·3), the one of the second -s·Â/2.
    weights = token_weights([3, 1], "response-mean", num_tokens=4, num_responses=2)
    rollout = torch.full((4,), -1.0, dtype=torch.float64)
    log_ratios = torch.tensor([0.03, -0.01, 0.01, -0.02], dtype=torch.float64)
    policy = (rollout + log_ratios).requires_grad_()
    advantages = torch.tensor([2.0, 2.0, 2.0, -1.0], dtype=torch.float64)
    inputs = LossInputs(policy, rollout, advantages, torch.zeros(4), weights.double(), [3, 1])
    output = policy_loss(inputs, Objective(Clipped(0.1, 0.1), ratio_level="sequence"))
    (gradient,) = torch.autograd.grad(output.loss, policy)
    first, second = math.exp(0.01), math.exp(-0.02)
    assert output.loss.item() == pytest.approx(-first + second / 2)
    assert gradient.tolist() == pytest.approx([-first * 2 / 6] * 3 + [second / 2])


@pytest.mark.parametrize(
    ("probability", "loss", "gradient"),
    [
        # f(0.1) = 0.1/0.2; by log π, γ·π/(π + γ)² = 0.01/0.04.
        (0.1, -0.5, -0.25),
        # f(0.9) = 0.9/1; 0.09/1.
        (0.9, -0.9, -0.09),
        # f(0.01) = 0.01/0.11; 0.001/0.0121: eight times π, the gradient without shaping.
        (0.01, -1 / 11, -0.001 / 0.0121),
    ],
)
def test_a_demonstrations_token_has_a_shaped_weight(probability: float, loss: float, gradient: float) -> None:
    policy = torch.tensor([probability], dtype=torch.float64).log().requires_grad_()
    output = demonstrated(policy, [1.0], [True], demonstration_shaping=0.1)
    (found,) = torch.autograd.grad(output.loss, policy)
    assert output.loss.item() == pytest.approx(loss)
    assert float(found) == pytest.approx(gradient)


def demonstrated(policy: Tensor, advantages: list[float], is_given: list[bool], **config: Any) -> LossOutput:
    """The loss where some tokens are of demonstrations; the others' behaviour policy is π_θ."""
    given = torch.tensor(is_given)
    return policy_loss(
        LossInputs(
            policy,
            policy.detach().where(~given, 0.0),
            torch.tensor(advantages, dtype=torch.float64),
            torch.tensor([0.5] * len(advantages), dtype=torch.float64),
            torch.ones(len(advantages), dtype=torch.float64),
            [1] * len(advantages),
            is_given=given,
        ),
        Objective(**config),
    )


def test_other_tokens_are_clipped_and_recorded_as_without_demonstrations() -> None:
    policy = torch.tensor([0.25, 0.1], dtype=torch.float64).log()
    output = demonstrated(policy, [2.0, 4.0], [False, True], demonstration_shaping=0.1)
    # -1 · 2 of the response, and -0.1/0.2 · 4 of the demonstration, whose ratio of 0.1 would be clipped to 0.8.
    assert float(output.loss) == pytest.approx(-4.0)
    assert (output.ratios.tolist(), output.kl.tolist(), output.is_clipped.tolist()) == ([1.0], [0.0], [False])
    assert output.entropies.tolist() == [0.5]
    assert output.demonstrations is not None
    assert output.demonstrations.losses.tolist() == pytest.approx([-2.0])
    assert output.demonstrations.probabilities.tolist() == pytest.approx([0.1])


def test_a_demonstration_has_no_kl_penalty_but_an_entropy_bonus() -> None:
    policy = torch.tensor([0.1], dtype=torch.float64).log()
    penalised = demonstrated(policy, [1.0], [True], demonstration_shaping=0.1, kl_coefficient=5.0)
    assert float(penalised.loss) == pytest.approx(-0.5)
    rewarded = demonstrated(policy, [1.0], [True], demonstration_shaping=0.1, entropy_coefficient=0.2)
    assert float(rewarded.loss) == pytest.approx(-0.5 - 0.2 * 0.5)
