"""The policy loss: a pure function of the tokens' log-probabilities and advantages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bapo.config.objective import Aggregation, KlEstimator, Objective

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

_MAX_LOG_RATIO = 20.0
"""|log ρ| beyond this is cut, as in verl, so that ρ stays finite."""
_MAX_LOW_VARIANCE_KL = 10.0
"""verl cuts the k3 estimate here."""


@dataclass(frozen=True, slots=True)
class LossInputs:
    """One value per response token in each tensor; those of a response together."""

    policy_logprobs: Float[Tensor, "tokens"]
    """log π_θ(token), with gradient."""
    rollout_logprobs: Float[Tensor, "tokens"]
    """log b(token) of the behaviour policy b that generated the response."""
    advantages: Float[Tensor, "tokens"]
    """Â of the token's response."""
    entropies: Float[Tensor, "tokens"]
    """Entropy of π_θ at the token, nats; with gradient where there is an entropy bonus."""
    weights: Float[Tensor, "tokens"]
    """Share of the token in the mini-batch's mean; see `token_weights`."""
    lengths: Sequence[int]
    """Tokens of each response, in the order of the tokens."""
    reference_logprobs: Float[Tensor, "tokens"] | None = None
    """log π_ref(token) of the reference policy, where the objective needs it."""
    current_logprobs: Float[Tensor, "tokens"] | None = None
    """log π_k(token) of the policy before the step's first update, where the objective needs it."""


@dataclass(frozen=True, slots=True)
class LossOutput:
    """The loss with what is worth recording of each token; all but the loss without gradient."""

    loss: Float[Tensor, ""]
    """These tokens' part of the mini-batch's loss. Parts of one mini-batch add up."""
    ratios: Float[Tensor, "tokens"]
    """ρ of the token, or its response's."""
    kl: Float[Tensor, "tokens"]
    """ρ·log ρ - (ρ - 1), nats: unbiased for KL(π_θ ‖ b) in the mean."""
    is_clipped: Bool[Tensor, "tokens"]
    """True if clipping took the token's policy gradient away."""
    reference_kl: Float[Tensor, "tokens"] | None
    """The same of KL(π_θ ‖ π_ref); `None` without a reference policy."""


def policy_loss(inputs: LossInputs, config: Objective) -> LossOutput:
    """Return PPO-clip on the ratio, with KL penalty and entropy bonus.

    ρ = π_θ / b,  L = Σ_t w_t · ( -min(ρ_t·Â_t, clip(ρ_t, 1 - ε_low, 1 + ε_high)·Â_t) + β·KL_t - γ·H_t )

    KL is to the reference policy (arXiv:2602.20722, Eq. (1)), to b (Eq. (3)), or a mean of both in the proportion λ to
    1 - λ with λ = `kl_reference_share` (arXiv:2507.06892, the KL-convex constraint).

    At `ratio_level` "sequence", ρ of every token is its response's (π_θ(y) / b(y))^(1/|y|), so that with
    response-mean weights the sum is GSPO's objective (arXiv:2507.18071, Eq. (5) and (7)).
    With dual clip c, the first term of a negative advantage is at most -c·Â (arXiv:1912.09729, Eq. (5)).
    With a `behaviour_ratio_cap` of C, ρ is π_θ/π_k and the first term is weighed by min(π_k/b, C).
    With a shifted clip range the bounds are π_k/b - ε_low and π_k/b + ε_high, of the policy π_k before the step's
    update (arXiv:2507.06892), so that a group is not clipped for being old.
    """
    log_ratios = (inputs.policy_logprobs - inputs.rollout_logprobs).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    if config.behaviour_ratio_cap is None:
        ratios = _ratios(inputs.policy_logprobs - inputs.rollout_logprobs, inputs, config)
    else:
        ratios = _ratios(inputs.policy_logprobs - _current(inputs), inputs, config)
    centre = _clip_centre(inputs, config)
    unclipped = -ratios * inputs.advantages
    clipped = -torch.clamp(ratios, centre - config.clip_low, centre + config.clip_high) * inputs.advantages
    losses = torch.maximum(unclipped, clipped)
    is_clipped = clipped > unclipped
    if config.dual_clip is not None:
        bounds = -config.dual_clip * inputs.advantages
        is_bounded = (inputs.advantages < 0) & (losses > bounds)
        losses = torch.where(is_bounded, bounds, losses)
        is_clipped = is_clipped | is_bounded
    if config.behaviour_ratio_cap is not None:
        before = _ratios(_current(inputs) - inputs.rollout_logprobs, inputs, config)
        losses = losses * before.clamp(max=config.behaviour_ratio_cap)
    to_reference = None
    if inputs.reference_logprobs is not None:
        to_reference = (inputs.policy_logprobs - inputs.reference_logprobs).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    if config.kl_coefficient:
        share = config.kl_reference_share
        for part, target in ((1 - share, log_ratios), (share, to_reference)):
            if part:
                assert target is not None, "the objective needs a reference policy"
                losses = losses + config.kl_coefficient * part * kl_penalty(log_ratios, target, config.kl_estimator)
    if config.entropy_coefficient:
        losses = losses - config.entropy_coefficient * inputs.entropies
    with torch.no_grad():
        kl = kl_penalty(log_ratios, log_ratios, "unbiased")
        reference_kl = None if to_reference is None else kl_penalty(log_ratios, to_reference, "unbiased")
    return LossOutput((inputs.weights * losses).sum(), ratios.detach(), kl, is_clipped, reference_kl)


def _clip_centre(inputs: LossInputs, config: Objective) -> Float[Tensor, "tokens"]:
    """Return what each token's ratio is clipped around: 1, or the ratio before the step's update."""
    if not config.shifts_clip_range:
        return torch.ones_like(inputs.rollout_logprobs)
    return _ratios(_current(inputs) - inputs.rollout_logprobs, inputs, config)


def _ratios(log_ratios: Float[Tensor, "tokens"], inputs: LossInputs, config: Objective) -> Float[Tensor, "tokens"]:
    """Return each token's ratio, or that of its response."""
    if config.ratio_level == "sequence":
        log_ratios = response_means(log_ratios, inputs.lengths)
    return log_ratios.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()


def _current(inputs: LossInputs) -> Float[Tensor, "tokens"]:
    assert inputs.current_logprobs is not None, "the objective needs the policy before the update"
    return inputs.current_logprobs


def response_means(values: Float[Tensor, "tokens"], lengths: Sequence[int]) -> Float[Tensor, "tokens"]:
    """Return each response's mean at each of its tokens."""
    sizes = torch.tensor(lengths, device=values.device)
    rows = torch.arange(len(lengths), device=values.device).repeat_interleave(sizes)
    sums = torch.zeros(len(lengths), dtype=values.dtype, device=values.device).index_add(0, rows, values)
    # A row of padding has no tokens.
    return (sums / sizes.clamp(min=1))[rows]


def kl_penalty(
    log_ratios: Float[Tensor, "tokens"], target_log_ratios: Float[Tensor, "tokens"], estimator: KlEstimator
) -> Float[Tensor, "tokens"]:
    """Estimate KL(π_θ ‖ q) per token, nats, from log ρ = log π_θ - log b of the tokens' own policy and log π_θ - log q.

    `low_var_kl`: k3 = q/π_θ - 1 + log(π_θ/q), unbiased for tokens drawn from π_θ, cut at ±10 as in verl.
    `unbiased`: ρ·k3, whose mean over tokens drawn from b is KL(π_θ ‖ q), and its gradient likewise. To b itself it is
    ρ·log ρ - (ρ - 1).
    """
    # q/π_θ - 1 as expm1, so that values near 0 keep their digits.
    k3 = (-target_log_ratios).expm1() + target_log_ratios
    if estimator == "unbiased":
        return log_ratios.exp() * k3
    return k3.clamp(-_MAX_LOW_VARIANCE_KL, _MAX_LOW_VARIANCE_KL)


def token_weights(
    lengths: Sequence[int],
    aggregation: Aggregation,
    *,
    num_tokens: int,
    num_responses: int,
) -> Float[Tensor, "tokens"]:
    """Return the weight of each token of responses of these lengths, response by response.

    `token-mean`: 1 / num_tokens. `response-mean`: 1 / (num_responses · |y|) (arXiv:2602.20722, Eq. (1)). The totals
    are those of the whole mini-batch, tokens without gradient included, so that parts of it can be summed.
    """
    sizes = torch.tensor(lengths)
    if aggregation == "token-mean":
        return torch.full((int(sizes.sum()),), 1 / num_tokens)
    return (1 / (num_responses * sizes)).repeat_interleave(sizes)
