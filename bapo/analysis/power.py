"""The smallest difference that a paired comparison over seeds shows, and how far seeds disagree about one.

For the paired t test over n seeds, two-sided at 5 %: with δ the true difference and s the standard deviation of the
paired differences, t follows the noncentral t distribution with n − 1 degrees of freedom and noncentrality δ·√n / s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import variance
from typing import NamedTuple

from bapo.analysis.comparison import t_quantile

POWER = 0.8
"""Share of repetitions of the study whose interval excludes 0."""
MIN_FREEDOM = 4
"""Degrees of freedom from which runs say how far seeds disagree."""


class PairedSpread(NamedTuple):
    """Standard deviation over seeds of the difference between two settings."""

    deviation: float
    low: float
    """95 % interval, from the χ² distribution."""
    high: float
    freedom: float
    num_settings: int
    num_results: int


def power_of(num_seeds: int, difference: float, deviation: float) -> float:
    """Return the share of repetitions whose 95 % interval excludes 0, on either side. 0 for fewer than two seeds."""
    from scipy.special import nctdtr  # noqa: PLC0415, import takes longer than most answers

    if num_seeds < 2:
        return 0.0
    freedom, bound = num_seeds - 1, float(t_quantile(num_seeds - 1))
    shift = abs(difference) * math.sqrt(num_seeds) / deviation
    return float(1 - nctdtr(freedom, shift, bound) + nctdtr(freedom, shift, -bound))


def detectable_difference(num_seeds: int, deviation: float) -> float | None:
    """Return the smallest difference that four of five repetitions show; None for fewer than two seeds.

    In the unit of the deviation.
    """
    if num_seeds < 2:
        return None
    low, high = 0.0, 1.0
    while power_of(num_seeds, high, 1.0) < POWER:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if power_of(num_seeds, middle, 1.0) < POWER else (low, middle)
    return high * deviation


def paired_spread(settings: Sequence[Mapping[int, float]]) -> PairedSpread | None:
    """Return how far the difference between two settings varies over seeds, pooled over all pairs that share seeds.

    `settings`: the result of each seed. Pairs of k settings over n common seeds have (k − 1)(n − 1) degrees of freedom
    together. None below `MIN_FREEDOM`, or where all differences are equal.
    """
    from scipy.special import chdtri  # noqa: PLC0415, see above

    squares, weight = 0.0, 0
    paired: set[int] = set()
    for (first, ours), (second, theirs) in combinations(enumerate(settings), 2):
        shared = sorted(ours.keys() & theirs.keys())
        if len(shared) < 2:
            continue
        squares += (len(shared) - 1) * variance([ours[seed] - theirs[seed] for seed in shared])
        weight += len(shared) - 1
        paired |= {first, second}
    freedom = 2 * weight / len(paired) if paired else 0.0
    if freedom < MIN_FREEDOM or squares == 0.0:
        return None
    deviation = math.sqrt(squares / weight)
    return PairedSpread(
        deviation,
        deviation * math.sqrt(freedom / float(chdtri(freedom, 0.025))),
        deviation * math.sqrt(freedom / float(chdtri(freedom, 0.975))),
        freedom,
        len(paired),
        sum(len(settings[index]) for index in paired),
    )
