"""The policy loss: a pure function of the tokens' log-probabilities and advantages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import torch
from torch import Tensor

from bapo.config.objective import (
    Aggregation,
    Clipped,
    DecoupledClip,
    KlEstimator,
    Objective,
    RatioLevel,
    ShiftedClip,
)

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Tokens: TypeAlias = Float[Tensor, "tokens"]

_MAX_LOG_RATIO = 20.0
"""|log ρ| beyond this is cut, as in verl, so that ρ stays finite."""
_MAX_LOW_VARIANCE_KL = 10.0
"""verl cuts the k3 estimate here."""


@dataclass(frozen=True, slots=True)
class LossInputs:
    """One value per response token in each tensor; those of a response together."""

    policy_logprobs: Tokens
    """log π_θ(token), with gradient."""
    rollout_logprobs: Tokens
    """log b(token) of the behaviour policy b that generated the response."""
    advantages: Tokens
    """Â of the token's response."""
    entropies: Tokens
    """Entropy of π_θ at the token, nats; with gradient where there is an entropy bonus."""
    weights: Tokens
    """Share of the token in the mini-batch's mean; see `token_weights`."""
    lengths: Sequence[int]
    """Tokens of each response, in the order of the tokens."""
    reference_logprobs: Tokens | None = None
    """log π_ref(token) of the reference policy, where the objective needs it."""
    current_logprobs: Tokens | None = None
    """log π_k(token) of the policy before the step's first update, where the objective needs it."""
    is_given: Bool[Tensor, "tokens"] | None = None
    """True at tokens of demonstrations, whose `rollout_logprobs` are 0; None without any."""


class DemonstrationTerm(NamedTuple):
    """Losses and probabilities π_θ of the tokens of demonstrations, without gradient."""

    losses: Tokens
    probabilities: Tokens


@dataclass(frozen=True, slots=True)
class LossOutput:
    """The loss with what is worth recording of each token, all but the loss without gradient; of demonstrations' tokens
    only `demonstrations`.
    """

    loss: Float[Tensor, ""]
    """These tokens' part of the mini-batch's loss. Parts of one mini-batch add up."""
    ratios: Tokens
    """ρ of the token, or its response's."""
    kl: Tokens
    """ρ·log ρ - (ρ - 1), nats: unbiased for KL(π_θ ‖ b) in the mean."""
    is_clipped: Bool[Tensor, "tokens"]
    """True if clipping took the token's policy gradient away."""
    reference_kl: Tokens | None
    """The same of KL(π_θ ‖ π_ref); `None` without a reference policy."""
    entropies: Tokens
    demonstrations: DemonstrationTerm | None = None


class PolicyTerm(NamedTuple):
    """A surrogate's loss of each token."""

    losses: Tokens
    ratios: Tokens
    """The ratio that is clipped."""
    is_clipped: Bool[Tensor, "tokens"]


def policy_loss(inputs: LossInputs, config: Objective) -> LossOutput:
    """Return the objective's surrogate with its KL penalty and entropy bonus, and what is recorded of them.

    L = Σ_t w_t · ( surrogate_t + β·KL_t - γ·H_t )
    """
    to_behaviour = _cut(inputs.policy_logprobs - inputs.rollout_logprobs)
    term = surrogate(inputs, config)
    to_reference = None
    if inputs.reference_logprobs is not None:
        to_reference = _cut(inputs.policy_logprobs - inputs.reference_logprobs)
    losses = add_kl_penalty(term.losses, to_behaviour, to_reference, config)
    if inputs.is_given is not None:
        losses = torch.where(inputs.is_given, demonstration_losses(inputs, config), losses)
    given = None if inputs.is_given is None else _given(inputs, losses.detach())
    if config.entropy_coefficient:
        losses = losses - config.entropy_coefficient * inputs.entropies
    with torch.no_grad():
        kl = kl_penalty(to_behaviour, to_behaviour, "unbiased")
        reference_kl = None if to_reference is None else kl_penalty(to_behaviour, to_reference, "unbiased")
    sampled = slice(None) if inputs.is_given is None else ~inputs.is_given
    return LossOutput(
        (inputs.weights * losses).sum(),
        term.ratios.detach()[sampled],
        kl[sampled],
        term.is_clipped[sampled],
        None if reference_kl is None else reference_kl[sampled],
        inputs.entropies.detach()[sampled],
        given,
    )


def demonstration_losses(inputs: LossInputs, config: Objective) -> Tokens:
    """Return the loss of each token as one of a demonstration, whose own probability counts as 1; nothing is clipped.

    -f(π_θ)·Â,  f(π) = π / (π + γ)

    Source: arXiv:2504.14945, policy shaping. f(π) is the logistic function of log π - log γ.
    """
    assert config.demonstration_shaping is not None, "the objective holds no demonstrations"
    return -torch.sigmoid(inputs.policy_logprobs - math.log(config.demonstration_shaping)) * inputs.advantages


def _given(inputs: LossInputs, losses: Tokens) -> DemonstrationTerm:
    return DemonstrationTerm(losses[inputs.is_given], inputs.policy_logprobs.detach()[inputs.is_given].exp())


def surrogate(inputs: LossInputs, config: Objective) -> PolicyTerm:
    """Return the objective's surrogate of each token, on ratios of its `ratio_level`."""
    level, lengths, advantages = RATIOS[config.ratio_level], inputs.lengths, inputs.advantages
    policy, rollout, current = inputs.policy_logprobs, inputs.rollout_logprobs, inputs.current_logprobs
    match config.surrogate:
        case ShiftedClip() as clip:
            assert current is not None, "the objective needs the policy before the update"
            return shifted_clip(level(policy - rollout, lengths), level(current - rollout, lengths), advantages, clip)
        case DecoupledClip() as clip:
            assert current is not None, "the objective needs the policy before the update"
            return decoupled_clip(level(policy - current, lengths), level(current - rollout, lengths), advantages, clip)
        case clip:
            return clipped(level(policy - rollout, lengths), advantages, clip)


def clipped(ratios: Tokens, advantages: Tokens, clip: Clipped, centre: Tokens | None = None) -> PolicyTerm:
    """Return PPO-clip, around 1 or another centre, with the dual clip if there is one.

    -min(ρ·Â, clip(ρ, 1 - ε_low, 1 + ε_high)·Â),  ρ = π_θ / b

    Source: arXiv:1707.06347, Eq. (7); arXiv:2602.20722, Eq. (1) and (3). On sequence ratios with response-mean weights,
    arXiv:2507.18071, Eq. (5).
    """
    middle = torch.ones_like(ratios) if centre is None else centre
    plain = -ratios * advantages
    bounded = -torch.clamp(ratios, middle - clip.clip_low, middle + clip.clip_high) * advantages
    term = PolicyTerm(torch.maximum(plain, bounded), ratios, bounded > plain)
    return term if clip.dual_clip is None else dual_clip(term, advantages, clip.dual_clip)


def shifted_clip(ratios: Tokens, before: Tokens, advantages: Tokens, clip: ShiftedClip) -> PolicyTerm:
    """Return PPO-clip around the ratio before the step's update, so that a group is not clipped for being old.

    -min(ρ·Â, clip(ρ, π_k/b - ε_low, π_k/b + ε_high)·Â),  ρ = π_θ / b

    Source: arXiv:2507.06892.
    """
    return clipped(ratios, advantages, clip, centre=before)


def decoupled_clip(since: Tokens, before: Tokens, advantages: Tokens, clip: DecoupledClip) -> PolicyTerm:
    """Return PPO-clip on the ratio to the policy before the step's update, weighed by how far that is from b.

    -min(π_k/b, C) · min(ρ·Â, clip(ρ, 1 - ε_low, 1 + ε_high)·Â),  ρ = π_θ / π_k

    Source: the released code of arXiv:2602.20722.
    """
    term = clipped(since, advantages, clip)
    return term._replace(losses=term.losses * before.clamp(max=clip.cap))


def dual_clip(term: PolicyTerm, advantages: Tokens, bound: float) -> PolicyTerm:
    """Limit the losses of negative advantages.

    min(loss, -c·Â) where Â < 0

    Source: arXiv:1912.09729, Eq. (5).
    """
    bounds = -bound * advantages
    is_bounded = (advantages < 0) & (term.losses > bounds)
    losses = torch.where(is_bounded, bounds, term.losses)
    return term._replace(losses=losses, is_clipped=term.is_clipped | is_bounded)


def add_kl_penalty(losses: Tokens, to_behaviour: Tokens, to_reference: Tokens | None, config: Objective) -> Tokens:
    """Add the KL penalty to the policies that it holds π_θ to, given as log π_θ - log of each.

    β·( (1 - λ)·KL(π_θ ‖ b) + λ·KL(π_θ ‖ π_ref) ),  λ = `kl_reference_share`

    Source: arXiv:2602.20722, Eq. (3) for λ = 0 and Eq. (1) for λ = 1; arXiv:2507.06892, the KL-convex constraint.
    """
    if not config.kl_coefficient:
        return losses
    share = config.kl_reference_share
    for part, target in ((1 - share, to_behaviour), (share, to_reference)):
        if part:
            assert target is not None, "the objective needs a reference policy"
            losses = losses + config.kl_coefficient * part * kl_penalty(to_behaviour, target, config.kl_estimator)
    return losses


def token_ratios(log_ratios: Tokens, lengths: Sequence[int]) -> Tokens:
    """Return the ratio of each token."""
    return _cut(log_ratios).exp()


def sequence_ratios(log_ratios: Tokens, lengths: Sequence[int]) -> Tokens:
    """Return at each token the ratio of its response, the geometric mean of its tokens'.

    s = (π_θ(y|x) / b(y|x))^(1/|y|)

    Source: arXiv:2507.18071, Eq. (7).
    """
    return _cut(response_means(log_ratios, lengths)).exp()


RATIOS: Mapping[RatioLevel, Callable[[Tensor, Sequence[int]], Tensor]] = {
    "token": token_ratios,
    "sequence": sequence_ratios,
}


def _cut(log_ratios: Tokens) -> Tokens:
    return log_ratios.clamp(-_MAX_LOG_RATIO, _MAX_LOG_RATIO)


def response_means(values: Tokens, lengths: Sequence[int]) -> Tokens:
    """Return each response's mean at each of its tokens."""
    sizes = torch.tensor(lengths, device=values.device)
    rows = torch.arange(len(lengths), device=values.device).repeat_interleave(sizes)
    sums = torch.zeros(len(lengths), dtype=values.dtype, device=values.device).index_add(0, rows, values)
    # A row of padding has no tokens.
    return (sums / sizes.clamp(min=1))[rows]


def kl_penalty(log_ratios: Tokens, target_log_ratios: Tokens, estimator: KlEstimator) -> Tokens:
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
) -> Tokens:
    """Return the weight of each token of responses of these lengths, response by response.

    `token-mean`: 1 / num_tokens. `response-mean`: 1 / (num_responses · |y|) (arXiv:2602.20722, Eq. (1)). The totals
    are those of the whole mini-batch, tokens without gradient included, so that parts of it can be summed.
    """
    sizes = torch.tensor(lengths)
    if aggregation == "token-mean":
        return torch.full((int(sizes.sum()),), 1 / num_tokens)
    return (1 / (num_responses * sizes)).repeat_interleave(sizes)
