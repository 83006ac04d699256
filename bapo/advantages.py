"""Computes group-relative advantages from the rewards of rollout groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from bapo.config.objective import LengthPenalty
from bapo.theory import VARIANCE_EPSILON

if TYPE_CHECKING:
    from jaxtyping import Float


def group_advantages(
    rewards: Float[Tensor, "groups rollouts"], *, correction: int = 0
) -> Float[Tensor, "groups rollouts"]:
    """Standardise each group's rewards with its own mean and population variance, or with `correction` 1 the sample's.

    Â_ij = (r_ij - mean_j r_ij) / sqrt(var_j r_ij + ε), exactly 0 in a group of equal rewards.
    Source: arXiv:2602.20722, Eq. (2).
    """
    means = rewards.mean(dim=1, keepdim=True)
    variances = rewards.var(dim=1, correction=correction, keepdim=True)
    advantages = (rewards - means) / torch.sqrt(variances + VARIANCE_EPSILON)
    # The mean of equal rewards may be off by a rounding, which 1/sqrt(ε) would blow up a thousandfold.
    is_homogeneous = (rewards == rewards[:, :1]).all(dim=1, keepdim=True)
    return advantages.masked_fill(is_homogeneous, 0.0)


def shaped_rewards(rewards: Sequence[float], lengths: Sequence[int], shaping: LengthPenalty | None) -> list[float]:
    """Return the rewards [rollouts] that advantages are computed from: less a penalty on length, where there is one.

    R(y) = r(y) - p · clip((|y| - (L_max - L_cache)) / L_cache, 0, 1), the soft overlong punishment.
    Source: arXiv:2503.14476, Eq. (13), with p = 1. `lengths` in response tokens, the end token included.
    """
    if shaping is None:
        return list(rewards)
    allowed = shaping.limit_tokens - shaping.buffer_tokens
    return [
        reward - shaping.penalty * min(1.0, max(0, length - allowed) / shaping.buffer_tokens)
        for reward, length in zip(rewards, lengths, strict=True)
    ]
