"""Advantages of single responses combined from several groups, without tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bapo.theory import VARIANCE_EPSILON


def relative_advantages(rewards: Sequence[int]) -> tuple[float, ...]:
    """Standardise 0/1 rewards with their own mean and population variance, exactly 0 where all are equal.

    Â_j = (r_j - μ) / sqrt(μ(1 - μ) + ε): `bapo.advantages.group_advantages` of one group.
    Source: arXiv:2602.20722, Eq. (2).
    """
    mean = sum(rewards) / len(rewards)
    if mean in (0, 1):
        return (0.0,) * len(rewards)
    deviation = math.sqrt(mean * (1 - mean) + VARIANCE_EPSILON)
    return tuple((reward - mean) / deviation for reward in rewards)
