"""The critic's arithmetic: advantages from values, value loss, explained variance. Pure functions of tensors.

Values and tokens lie as everywhere: one value per response token, those of a response together. The value of a token is
V(s_t) of the state before it, prompt and earlier tokens, so that it does not depend on the token itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

_WHITENING_EPSILON = 1e-8


def generalized_advantages(
    rewards: Float[Tensor, "responses"],
    values: Float[Tensor, "tokens"],
    lengths: Sequence[int],
    *,
    discount: float,
    gae_lambda: float,
) -> tuple[Float[Tensor, "tokens"], Float[Tensor, "tokens"]]:
    """Compute generalised advantage estimates and the returns that values are trained towards.

    δ_t = r_t + γ·V(s_{t+1}) - V(s_t),  Â_t = Σ_l (γλ)^l·δ_{t+l},  R_t = Â_t + V(s_t)

    r is the response's reward at its last token and 0 before; V behind the last token is 0, also where the response was
    cut at the token limit. With γ = λ = 1: R_t is the response's reward, and Â_t = R_t - V(s_t).
    Source: arXiv:1506.02438, Eq. (16). `lengths` are at least 1 each.
    """
    sizes = torch.tensor(lengths, device=values.device)
    is_token = torch.arange(int(sizes.max()), device=values.device) < sizes.unsqueeze(1)
    padded = torch.zeros(is_token.shape, dtype=values.dtype, device=values.device)
    padded[is_token] = values
    deltas = -padded
    deltas[:, :-1] += discount * padded[:, 1:]
    rows = torch.arange(len(lengths), device=values.device)
    deltas[rows, sizes - 1] += rewards.to(values)
    # Behind a response's end all is 0, so that its last token starts from 0 like the longest one's.
    advantages = deltas
    for t in reversed(range(is_token.shape[1] - 1)):
        advantages[:, t] += discount * gae_lambda * advantages[:, t + 1]
    estimates = advantages[is_token]
    return estimates, estimates + values


def whitened(advantages: Float[Tensor, "tokens"]) -> Float[Tensor, "tokens"]:
    """Return (Â - mean) / sqrt(var + ε) over all tokens of the batch: sample variance and ε = 1e-8, as in verl."""
    centred = advantages - advantages.mean()
    # A single token has no sample variance.
    return centred * torch.rsqrt(centred.square().sum() / max(len(advantages) - 1, 1) + _WHITENING_EPSILON)


@dataclass(frozen=True, slots=True)
class ValueLossOutput:
    """The loss, and which tokens' gradient clipping took."""

    loss: Float[Tensor, ""]
    """These tokens' part of the mini-batch's loss. Parts of one mini-batch add up."""
    is_clipped: Bool[Tensor, "tokens"]


def value_loss(
    values: Float[Tensor, "tokens"],
    old_values: Float[Tensor, "tokens"],
    returns: Float[Tensor, "tokens"],
    weights: Float[Tensor, "tokens"],
    *,
    value_clip: float,
) -> ValueLossOutput:
    """Return the squared error of the values, clipped around those before the update.

    L = ½·Σ_t w_t·max((V_t - R_t)², (clip(V_t, V_t_old - ε, V_t_old + ε) - R_t)²)

    Source: the value clipping of PPO's reference implementation and of verl; not in arXiv:1707.06347. `weights`
    are the tokens' shares in the mini-batch's mean.
    """
    kept_near = torch.clamp(values, old_values - value_clip, old_values + value_clip)
    plain, clipped = (values - returns).square(), (kept_near - returns).square()
    return ValueLossOutput(0.5 * (weights * torch.maximum(plain, clipped)).sum(), clipped > plain)


def explained_variance(values: Float[Tensor, "tokens"], returns: Float[Tensor, "tokens"]) -> float | None:
    """Return 1 - Var(R - V) / Var(R) over tokens; None if all returns are equal: there is nothing to explain."""
    if bool((returns == returns[0]).all()):
        return None
    return float(1 - (returns - values).double().var(correction=0) / returns.double().var(correction=0))
