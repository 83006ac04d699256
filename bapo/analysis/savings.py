"""What a method saved against a baseline at equal accuracy, with an interval over seeds.

s = 1 - (mean spent by the method) / (mean spent by the baseline), each until a run's first evaluation that reaches it.
The interval is the percentile bootstrap's: pairs of one seed are drawn where both sides have the same, else each alone.
A run that has not reached the accuracy has no such figure, and leaving it out would favour its side: no share is given.
Where only baseline runs are missing, they spent at least what they did, so that this gives the least that was saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.result import Savings

NUM_RESAMPLES = 10_000


class Expense(NamedTuple):
    """What one run spent: until it reached the accuracy, or in all without reaching it."""

    seed: int | None
    spent: float
    has_reached: bool


def savings(ours: Sequence[Expense], baseline: Sequence[Expense]) -> Savings | None:
    """The share saved; None where a run of ours has not reached the accuracy, or nothing is known of one side."""
    if not ours or not baseline or not all(each.has_reached for each in ours):
        return None
    theirs = np.array([each.spent for each in baseline])
    if theirs.mean() <= 0:
        return None
    mine = np.array([each.spent for each in ours])
    share = float(1 - mean_ratio(mine, theirs))
    is_least = not all(each.has_reached for each in baseline)
    low, high = (None, None) if is_least else _interval(ours, baseline)
    return Savings(
        value=share,
        spent=float(mine.mean()),
        baseline=float(theirs.mean()),
        low=low,
        high=high,
        n=len(ours),
        num_baseline=len(baseline),
        is_least=is_least,
    )


def mean_ratio(ours: NDArray[np.float64], baseline: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of ours over the mean of the baseline, along the last axis."""
    return np.asarray(ours.mean(axis=-1) / baseline.mean(axis=-1))


def _interval(ours: Sequence[Expense], baseline: Sequence[Expense]) -> tuple[float | None, float | None]:
    """2.5 and 97.5 % of the resampled shares; None without a second run on each side.

    None too where a run of the baseline spent nothing: a resample of such runs alone has no share.
    """
    if min(len(ours), len(baseline)) < 2 or any(each.spent <= 0 for each in baseline):
        return None, None
    draws = np.random.default_rng(0)
    mine, theirs = (_by_seed(each) for each in (ours, baseline))
    if mine is not None and theirs is not None and mine.keys() == theirs.keys():
        seeds = sorted(mine)
        drawn = draws.integers(len(seeds), size=(NUM_RESAMPLES, len(seeds)))
        first, second = (np.array([side[seed] for seed in seeds])[drawn] for side in (mine, theirs))
    else:
        first, second = (
            np.array([each.spent for each in side])[draws.integers(len(side), size=(NUM_RESAMPLES, len(side)))]
            for side in (ours, baseline)
        )
    low, high = np.quantile(1 - mean_ratio(first, second), [0.025, 0.975])
    return float(low), float(high)


def _by_seed(runs: Sequence[Expense]) -> dict[int, float] | None:
    """None where a seed is not known, or is that of several runs."""
    found = {each.seed: each.spent for each in runs if each.seed is not None}
    return found if len(found) == len(runs) else None
