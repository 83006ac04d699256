"""Group-relative advantages."""

from __future__ import annotations

import torch
from torch import Tensor

from bapo.theory import VARIANCE_EPSILON


def group_advantages(rewards: Tensor) -> Tensor:
    """Standardise each group's rewards [groups, rollouts] with its own mean and population variance.

    Â_ij = (r_ij - mean_j r_ij) / sqrt(var_j r_ij + ε), exactly 0 in a group of equal rewards.
    Source: arXiv:2602.20722, Eq. (2).
    """
    means = rewards.mean(dim=1, keepdim=True)
    variances = rewards.var(dim=1, correction=0, keepdim=True)
    advantages = (rewards - means) / torch.sqrt(variances + VARIANCE_EPSILON)
    # The mean of equal rewards may be off by a rounding, which 1/sqrt(ε) would blow up a thousandfold.
    is_homogeneous = (rewards == rewards[:, :1]).all(dim=1, keepdim=True)
    return advantages.masked_fill(is_homogeneous, 0.0)
