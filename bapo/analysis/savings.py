"""Savings of a method against a baseline at equal accuracy, with an interval over seeds.

s = 1 - (mean spent by the method) / (mean spent by the baseline), each until a run's first evaluation that reaches it.
The interval is the percentile bootstrap's: pairs of one seed are drawn where both sides have the same, else each alone.
Runs of one seed count as their mean, so that an interval takes two seeds on each side.
A run that has not reached the accuracy has no such figure, and leaving it out would favour its side: no share is given.
Where only baseline runs are missing, they spent at least what they did, so that this gives the least that was saved.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import over_replicates
from bapo.analysis.result import Savings

NUM_RESAMPLES = 10_000


class Expense(NamedTuple):
    """Expense of one run: until it reached the accuracy, or in all if it did not reach it."""

    seed: int | None
    spent: float
    has_reached: bool


def savings(ours: Sequence[Expense], baseline: Sequence[Expense]) -> Savings | None:
    """Return the share saved; None if a run of ours did not reach the accuracy, or one side has no data."""
    if not ours or not baseline or not all(each.has_reached for each in ours):
        return None
    mine, theirs = _by_seed(ours), _by_seed(baseline)
    spent, of_baseline = np.array(list(mine.values())), np.array(list(theirs.values()))
    if of_baseline.mean() <= 0:
        return None
    is_least = not all(each.has_reached for each in baseline)
    low, high = (None, None) if is_least else _interval(mine, theirs)
    return Savings(
        value=float(1 - mean_ratio(spent, of_baseline)),
        spent=float(spent.mean()),
        baseline=float(of_baseline.mean()),
        low=low,
        high=high,
        n=len(mine),
        num_baseline=len(theirs),
        is_least=is_least,
    )


def mean_ratio(ours: NDArray[np.float64], baseline: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean of ours over the mean of the baseline, along the last axis."""
    return np.asarray(ours.mean(axis=-1) / baseline.mean(axis=-1))


def _by_seed(runs: Sequence[Expense]) -> dict[Hashable, float]:
    """Return what each replicate spent; a run without a known seed is one by itself."""
    keys = [(index,) if each.seed is None else each.seed for index, each in enumerate(runs)]
    spent = over_replicates(zip(keys, (each.spent for each in runs), strict=True))
    return dict(zip(dict.fromkeys(keys), spent, strict=True))


def _interval(ours: Mapping[Hashable, float], baseline: Mapping[Hashable, float]) -> tuple[float | None, float | None]:
    """Return the 2.5 and 97.5 % quantiles of the resampled shares; None without a second replicate on each side.

    None too where a run of the baseline spent nothing: a resample of such runs alone has no share.
    """
    if min(len(ours), len(baseline)) < 2 or any(spent <= 0 for spent in baseline.values()):
        return None, None
    draws = np.random.default_rng(0)
    # Keys of runs without a known seed are tuples, and pair with none.
    if ours.keys() == baseline.keys() and all(isinstance(key, int) for key in ours):
        seeds = list(ours)
        drawn = draws.integers(len(seeds), size=(NUM_RESAMPLES, len(seeds)))
        first, second = (np.array([side[seed] for seed in seeds])[drawn] for side in (ours, baseline))
    else:
        first, second = (
            np.array(list(side.values()))[draws.integers(len(side), size=(NUM_RESAMPLES, len(side)))]
            for side in (ours, baseline)
        )
    low, high = np.quantile(1 - mean_ratio(first, second), [0.025, 0.975])
    return float(low), float(high)
