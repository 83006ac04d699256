"""Online filters: which fresh groups become X1 (arXiv:2602.20722, Eq. 5 and A.3)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

from bapo.config.method import FilterConfig
from bapo.rollout import RolloutGroup


def keep_range(fresh: Sequence[RolloutGroup]) -> list[RolloutGroup]:
    """Groups with 1/G ≤ accuracy ≤ (G-1)/G: those with mixed rewards."""
    return [group for group in fresh if not group.is_homogeneous]


def keep_gaussian(fresh: Sequence[RolloutGroup], *, mean: float, std: float, draw: random.Random) -> list[RolloutGroup]:
    """Of the groups with mixed rewards, each with probability exp(-(accuracy - mean)² / (2·std²))."""
    return [
        group
        for group in keep_range(fresh)
        if draw.random() < math.exp(-((float(group.accuracy) - mean) ** 2) / (2 * std**2))
    ]


def keep_uniform(fresh: Sequence[RolloutGroup], *, share: float, draw: random.Random) -> list[RolloutGroup]:
    """Exactly round(share·n) of all n fresh groups (half rounds up), whatever their rewards, in their order."""
    num_kept = math.floor(Fraction(str(share)) * len(fresh) + Fraction(1, 2))
    kept = set(draw.sample(range(len(fresh)), num_kept))
    return [group for index, group in enumerate(fresh) if index in kept]


def keep(config: FilterConfig, fresh: Sequence[RolloutGroup], draw: random.Random) -> list[RolloutGroup]:
    """The fresh groups that the configured filter lets into X1."""
    match config.type:
        case "range":
            return keep_range(fresh)
        case "gaussian":
            return keep_gaussian(fresh, mean=config.mean, std=config.std, draw=draw)
        case "uniform":
            return keep_uniform(fresh, share=config.share, draw=draw)
