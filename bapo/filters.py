"""Online filters: which fresh groups become X1 (arXiv:2602.20722, Eq. 5 and A.3).

A filter looks at the counts of right responses alone, so that a recorded stream of counts is filtered as groups are.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from bapo.config.section import Section
from bapo.rollout import RolloutGroup


class FilterConfig(Section):
    """The filter of the fresh groups that become X1 (arXiv:2602.20722, A.3)."""

    type: Literal["range", "gaussian", "uniform"] = "range"
    """`range` keeps every group with mixed rewards; `gaussian` keeps those with a probability that peaks at `mean`;
    `uniform` keeps a random share of all fresh groups."""
    mean: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Accuracy that the gaussian filter always keeps."""
    std: Annotated[float, Field(ge=0.001, le=10)] = 0.2
    """Standard deviation of the gaussian filter, in accuracy."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.6
    """Share of the fresh groups that the uniform filter keeps."""


def keep_range(fresh: Sequence[RolloutGroup]) -> list[RolloutGroup]:
    """Return groups with 1/G ≤ accuracy ≤ (G-1)/G: those with mixed rewards."""
    return [group for group in fresh if not group.is_homogeneous]


def keep_gaussian(fresh: Sequence[RolloutGroup], *, mean: float, std: float, draw: random.Random) -> list[RolloutGroup]:
    """Return the groups with mixed rewards, each kept with probability exp(-(accuracy - mean)² / (2·std²))."""
    mixed = keep_range(fresh)
    return [group for group in mixed if draw.random() < _density(group.num_correct, group.group_size, mean, std)]


def keep_uniform(fresh: Sequence[RolloutGroup], *, share: float, draw: random.Random) -> list[RolloutGroup]:
    """Return exactly round(share·n) of all n fresh groups (half rounds up), whatever their rewards, in their order."""
    return [fresh[place] for place in _uniform_places(len(fresh), share, draw)]


def keep(config: FilterConfig, fresh: Sequence[RolloutGroup], draw: random.Random) -> list[RolloutGroup]:
    """Return the fresh groups that the configured filter lets into X1."""
    match config.type:
        case "range":
            return keep_range(fresh)
        case "gaussian":
            return keep_gaussian(fresh, mean=config.mean, std=config.std, draw=draw)
        case "uniform":
            return keep_uniform(fresh, share=config.share, draw=draw)


def kept_places(config: FilterConfig, num_correct: Sequence[int], group_size: int, draw: random.Random) -> list[int]:
    """Return the places of the groups that `keep` keeps, from their counts of right responses."""
    if config.type == "uniform":
        return _uniform_places(len(num_correct), config.share, draw)
    mixed = [place for place, count in enumerate(num_correct) if 0 < count < group_size]
    if config.type == "range":
        return mixed
    chance = [_density(count, group_size, config.mean, config.std) for count in range(group_size + 1)]
    return [place for place in mixed if draw.random() < chance[num_correct[place]]]


def _density(num_correct: int, group_size: int, mean: float, std: float) -> float:
    """Return the density of the normal distribution, scaled to peak 1."""
    return math.exp(-((num_correct / group_size - mean) ** 2) / (2 * std**2))


def _uniform_places(num_fresh: int, share: float, draw: random.Random) -> list[int]:
    num_kept = math.floor(Fraction(str(share)) * num_fresh + Fraction(1, 2))
    return sorted(draw.sample(range(num_fresh), num_kept))
