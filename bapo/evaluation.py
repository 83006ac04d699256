"""Evaluation figures with confidence intervals: avg@k, greedy accuracy, pass@k, and paired differences.

Every interval is a 95 % interval over problems: it says how the figure would vary over other held-out problems of
the same kind, not over other training seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist, fmean, stdev

from bapo.records import Interval

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True, slots=True)
class EvaluationFigures:
    """Figures of one held-out set."""

    num_problems: int
    num_samples: int
    """n responses sampled per problem."""
    avg_at_k: Interval
    """Mean accuracy of a sampled response, k = n."""
    greedy: Interval | None
    """Accuracy of the greedy response; None where none was generated."""
    pass_at: Mapping[int, Interval]
    """k → probability that at least one of k responses is correct."""
    share_none_correct: float
    """Problems with 0/n."""
    share_all_correct: float
    """Problems with n/n."""


def figures(
    num_correct: Sequence[int],
    num_samples: int,
    *,
    greedy_rewards: Sequence[int] | None = None,
    ks: Sequence[int] | None = None,
) -> EvaluationFigures:
    """Compute all figures of a held-out set from the number of correct responses of each problem.

    `ks`: the k of pass@k, by default the powers of two up to `num_samples` and `num_samples` itself.

    Raises:
        ValueError: no problems, a count outside 0..num_samples, or a k outside 1..num_samples.
    """
    if ks is None:
        ks = sorted({2**i for i in range(num_samples.bit_length())} | {num_samples})
    return EvaluationFigures(
        num_problems=len(num_correct),
        num_samples=num_samples,
        avg_at_k=avg_at_k(num_correct, num_samples),
        greedy=None if greedy_rewards is None else avg_at_k(greedy_rewards, 1),
        pass_at={k: pass_at_k(num_correct, num_samples, k) for k in ks},
        share_none_correct=sum(count == 0 for count in num_correct) / len(num_correct),
        share_all_correct=sum(count == num_samples for count in num_correct) / len(num_correct),
    )


def avg_at_k(num_correct: Sequence[int], num_samples: int) -> Interval:
    """Return avg@k = mean over problems of c / k, with k = `num_samples` responses each; k = 1 on greedy responses is
    greedy accuracy.

    Raises:
        ValueError: no problems, or a count outside 0..num_samples.
    """
    _check_counts(num_correct, num_samples)
    return score_interval([count / num_samples for count in num_correct], len(num_correct) * num_samples)


def pass_at_k(num_correct: Sequence[int], num_samples: int, k: int) -> Interval:
    """Return pass@k = mean over problems of 1 - C(n - c, k) / C(n, k), unbiased for k ≤ n = `num_samples` responses
    each (arXiv:2107.03374, Eq. 1).

    Raises:
        ValueError: no problems, a count outside 0..num_samples, or k outside 1..num_samples.
    """
    _check_counts(num_correct, num_samples)
    if not 1 <= k <= num_samples:
        raise ValueError(f"k of pass@k must lie in 1..{num_samples} (the number of samples), not {k}")
    of_all = math.comb(num_samples, k)
    values = [1 - math.comb(num_samples - count, k) / of_all for count in num_correct]
    return score_interval(values, len(num_correct) * (num_samples // k))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return the mean of `second` - `first` over the same problems, in the same order.

    The interval is normal, from the spread of the differences: what the two evaluations have in common cancels.
    At least some 30 problems are needed for it to hold its 95 %.

    Raises:
        ValueError: different numbers of problems, or fewer than two.
    """
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(
            f"a paired difference needs the same two or more problems twice, not {len(first)} and {len(second)}; "
            "give both evaluations of one held-out set"
        )
    differences = [b - a for a, b in zip(first, second, strict=True)]
    mean = fmean(differences)
    half_width = _Z * stdev(differences) / math.sqrt(len(differences))
    return Interval(value=mean, low=mean - half_width, high=mean + half_width)


def score_interval(values: Sequence[float], num_responses: int) -> Interval:
    """Return Wilson's score interval of a mean of values in [0, 1], with the effective number of independent trials.

    n_eff = p(1 - p) / (s² / n) with s² the variance over the n problems; for values 0 and 1 it is n, which is
    Wilson's interval itself. It is at most `num_responses`, the trials that the values are made of.
    """
    n = len(values)
    mean = fmean(values)
    variance_of_mean = math.fsum((value - mean) ** 2 for value in values) / n**2
    if mean in (0, 1):
        trials = float(n)
    elif variance_of_mean == 0:
        trials = float(num_responses)
    else:
        trials = min(mean * (1 - mean) / variance_of_mean, num_responses)
    return wilson_interval(mean, trials)


def wilson_interval(mean: float, trials: float) -> Interval:
    """Return Wilson's score interval of a share `mean` of so many independent trials, at least one.

    With one or two successes, or failures, and with three of more than 50 trials, its bound towards 0, or 1, is too
    near: where 0.2 of them are to be expected, the interval holds the true share 84 times in 100. There the bound is
    that of a Poisson count (Brown, Cai and DasGupta 2001).
    """
    scale = 1 + _Z**2 / trials
    centre = (mean + _Z**2 / (2 * trials)) / scale
    half_width = _Z * math.sqrt(mean * (1 - mean) / trials + _Z**2 / (4 * trials**2)) / scale
    low, high = centre - half_width, centre + half_width
    few = 2 if trials <= 50 else 3
    successes, failures = mean * trials, (1 - mean) * trials
    if 0 < successes <= few:
        low = min(low, _least_expected(successes) / trials)
    if 0 < failures <= few:
        high = max(high, 1 - _least_expected(failures) / trials)
    # At 0 and 1 the bound is exactly the mean; rounding must not move it past the mean or out of [0, 1].
    return Interval(value=mean, low=min(max(0.0, low), mean), high=max(min(1.0, high), mean))


@cache
def _least_expected(count: float) -> float:
    """Return the mean of a Poisson variable that reaches the count with probability 0.05, by bisection."""
    low, high = 0.0, count
    for _ in range(50):
        middle = (low + high) / 2
        # P(count, λ), the regularised incomplete gamma function, by its series.
        term = total = 1.0
        for number in range(1, 40):
            term *= middle / (count + number)
            total += term
        reached = middle**count * math.exp(-middle) / math.gamma(count + 1) * total
        low, high = (low, middle) if reached > 0.05 else (middle, high)
    return low


def _check_counts(num_correct: Sequence[int], num_samples: int) -> None:
    if not num_correct:
        raise ValueError("there are no problems to evaluate; give at least one")
    for index, count in enumerate(num_correct):
        if not 0 <= count <= num_samples:
            raise ValueError(
                f"problem {index} has {count} correct of {num_samples} responses; counts lie in 0..{num_samples}"
            )
