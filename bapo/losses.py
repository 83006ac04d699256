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
    """Whether clipping took the token's policy gradient away."""


def policy_loss(inputs: LossInputs, config: Objective) -> LossOutput:
    """PPO-clip on the ratio, with KL penalty to the behaviour policy and entropy bonus.

    ρ = π_θ / b,  L = Σ_t w_t · ( -min(ρ_t·Â_t, clip(ρ_t, 1 - ε_low, 1 + ε_high)·Â_t) + β·KL_t - γ·H_t )

    At `ratio_level` "sequence", ρ of every token is its response's (π_θ(y) / b(y))^(1/|y|), so that with
    response-mean weights the sum is GSPO's objective (arXiv:2507.18071, Eq. (5) and (7)).
    With dual clip c, the first term of a negative advantage is at most -c·Â (arXiv:1912.09729, Eq. (5)).
    Source: arXiv:2602.20722, Eq. (1) and (3); the paper writes KL to a reference policy in (1), to α in (3), and here
    it is the one of (3).
    """
    log_ratios = (inputs.policy_logprobs - inputs.rollout_logprobs).clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    if config.ratio_level == "sequence":
        means = response_means(inputs.policy_logprobs - inputs.rollout_logprobs, inputs.lengths)
        ratios = means.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO).exp()
    else:
        ratios = log_ratios.exp()
    unclipped = -ratios * inputs.advantages
    clipped = -ratios.clamp(1 - config.clip_low, 1 + config.clip_high) * inputs.advantages
    losses = torch.maximum(unclipped, clipped)
    is_clipped = clipped > unclipped
    if config.dual_clip is not None:
        bounds = -config.dual_clip * inputs.advantages
        is_bounded = (inputs.advantages < 0) & (losses > bounds)
        losses = torch.where(is_bounded, bounds, losses)
        is_clipped = is_clipped | is_bounded
    if config.kl_coefficient:
        losses = losses + config.kl_coefficient * kl_penalty(log_ratios, config.kl_estimator)
    if config.entropy_coefficient:
        losses = losses - config.entropy_coefficient * inputs.entropies
    with torch.no_grad():
        kl = kl_penalty(log_ratios, "unbiased")
    return LossOutput((inputs.weights * losses).sum(), ratios.detach(), kl, is_clipped)


def response_means(values: Float[Tensor, "tokens"], lengths: Sequence[int]) -> Float[Tensor, "tokens"]:
    """Return each response's mean at each of its tokens."""
    sizes = torch.tensor(lengths, device=values.device)
    rows = torch.arange(len(lengths), device=values.device).repeat_interleave(sizes)
    sums = torch.zeros(len(lengths), dtype=values.dtype, device=values.device).index_add(0, rows, values)
    # A row of padding has no tokens.
    return (sums / sizes.clamp(min=1))[rows]


def kl_penalty(log_ratios: Float[Tensor, "tokens"], estimator: KlEstimator) -> Float[Tensor, "tokens"]:
    """Estimate KL(π_θ ‖ b) per token from log ρ = log π_θ - log b, nats.

    `unbiased`: ρ·log ρ - (ρ - 1), whose mean over tokens drawn from b is KL(π_θ ‖ b), and its gradient likewise.
    `low_var_kl`: 1/ρ - 1 + log ρ (k3), unbiased for tokens drawn from π_θ, cut at ±10 as in verl.
    """
    if estimator == "unbiased":
        # ρ - 1 as expm1, so that values near 0 keep their digits.
        return log_ratios.exp() * log_ratios - log_ratios.expm1()
    return ((-log_ratios).expm1() + log_ratios).clamp(-_MAX_LOW_VARIANCE_KL, _MAX_LOW_VARIANCE_KL)


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
