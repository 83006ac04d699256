"""Disagreement of seeds that exceeds a difference, the number of seeds that would show it, and the sentence on that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

from bapo.analysis.comparison import estimate, t_quantile
from bapo.analysis.number_format import counted, share
from bapo.analysis.result import SeedDisagreement

POWER_QUANTILE = 0.8416
"""80 % quantile of the standard normal distribution: the share of repetitions that would show the difference."""
MOST_SEEDS = 1000


def seed_disagreement(differences: Sequence[float]) -> SeedDisagreement | None:
    """Return how far seeds disagree, or None where they agree well enough, or there are fewer than two.

    `differences`: one per seed, such as accuracy of a method minus that of the baseline. Seeds disagree where the
    standard deviation over them is above their mean difference and Student's 95 % interval includes 0.
    """
    found = estimate(differences)
    if found is None or found.low is None or found.high is None:
        return None
    deviation = stdev(differences)
    if deviation <= abs(found.value) or not found.low <= 0.0 <= found.high:
        return None
    return SeedDisagreement(
        mean=found.value,
        deviation=deviation,
        n=found.n,
        num_opposed=sum(each * found.value < 0 for each in differences),
        seeds_needed=_seeds_needed(found.value, deviation),
    )


def _seeds_needed(mean: float, deviation: float) -> int | None:
    """Return the fewest seeds whose interval would exclude 0 in four of five repetitions; None above 1,000.

    The smallest n with (t(0.975, n - 1) + z(0.8)) · s / √n ≤ |mean|.
    """
    for n in range(2, MOST_SEEDS + 1):
        if (float(t_quantile(n - 1)) + POWER_QUANTILE) * deviation / math.sqrt(n) <= abs(mean):
            return n
    return None


def seed_disagreement_text(what: str, found: SeedDisagreement) -> str:
    """Say "BAPO against GRPO on CD-34: the seeds disagree by more than the difference. …", for example.

    `what`: what is compared with what, and where.
    """
    needed = (
        "More than 1,000 seeds would be needed to show a difference of this size."
        if found.seeds_needed is None
        else f"A difference of this size takes about {counted(found.seeds_needed, 'seed')} to show."
    )
    opposed = f", and {found.num_opposed} of them the other way" if found.num_opposed else ""
    return (
        f"{what}: the seeds disagree by more than the difference. It is {100 * found.mean:+.1f} points on average over "
        f"{counted(found.n, 'seed')}, with a standard deviation of {share(found.deviation)} points{opposed}: no "
        f"evidence of a difference. {needed}"
    )
