"""Evaluation figures against worked numbers."""

from __future__ import annotations

import math
import random

import pytest

from bapo.evaluation import avg_at_k, figures, paired_difference, pass_at_k

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


def test_avg_at_k() -> None:
    # (0 + 2 + 4) / (3 · 4) = 0.5
    assert avg_at_k([0, 2, 4], 4).value == 0.5


def test_greedy_interval_is_wilsons() -> None:
    # 7 of 10: centre (0.7 + z²/20) / (1 + z²/10) = 0.6445; half width z · sqrt(0.021 + z²/400) / (1 + z²/10) = 0.2477
    interval = avg_at_k([1] * 7 + [0] * 3, 1)
    assert interval.value == 0.7
    assert interval.low == pytest.approx(0.3968, abs=5e-5)
    assert interval.high == pytest.approx(0.8922, abs=5e-5)


@pytest.mark.parametrize(("counts", "low", "high"), [([0] * 20, 0, 0.1611), ([1] * 20, 0.8389, 1)])
def test_interval_at_the_ends_has_a_width(counts: list[int], low: float, high: float) -> None:
    # z² / (20 + z²) = 3.8415 / 23.8415 = 0.1611
    interval = avg_at_k(counts, 1)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


def test_spread_between_problems_widens_the_interval() -> None:
    # Same mean 0.5. All problems alike: 4 · 10 trials. Half the problems solved, half not: 10 trials.
    alike = avg_at_k([2] * 10, 4)
    split = avg_at_k([0, 4] * 5, 4)
    half_width = Z * math.sqrt(0.25 / 40 + Z**2 / (4 * 40**2)) / (1 + Z**2 / 40)
    assert alike.high - alike.value == pytest.approx(half_width)
    assert split == avg_at_k([0, 1] * 5, 1)
    assert split.high - split.low > alike.high - alike.low


def test_pass_at_k() -> None:
    # n = 4, k = 2: c = 0 → 0; c = 1 → 1 - C(3,2)/C(4,2) = 1 - 3/6; c = 3 → 1 - 0/6.
    assert pass_at_k([0], 4, 2).value == 0
    assert pass_at_k([1], 4, 2).value == 0.5
    assert pass_at_k([3], 4, 2).value == 1
    assert pass_at_k([0, 1, 3], 4, 2).value == 0.5


def test_pass_at_1_is_avg_and_pass_at_n_is_any() -> None:
    counts = [0, 3, 8, 1, 0]
    assert pass_at_k(counts, 8, 1).value == pytest.approx(avg_at_k(counts, 8).value)
    assert pass_at_k(counts, 8, 8).value == 3 / 5


def test_pass_at_k_is_unbiased() -> None:
    # True pass@2 of p = 0.3 is 1 - 0.7² = 0.51; the mean over many draws of 8 must come near it.
    draw = random.Random(0)
    counts = [sum(draw.random() < 0.3 for _ in range(8)) for _ in range(20_000)]
    assert pass_at_k(counts, 8, 2).value == pytest.approx(0.51, abs=0.005)


def test_interval_holds_its_confidence() -> None:
    # Problems with accuracies spread over [0, 1], 200 of them, 8 samples: the true mean 0.5 should lie inside in
    # 95 % of repetitions; 4 standard errors of 400 repetitions are 4.4 points.
    draw = random.Random(1)
    inside = 0
    for _ in range(400):
        accuracies = [draw.random() for _ in range(200)]
        interval = avg_at_k([sum(draw.random() < p for _ in range(8)) for p in accuracies], 8)
        inside += interval.low <= 0.5 <= interval.high
    assert 0.906 <= inside / 400 <= 0.994


@pytest.mark.parametrize("num_problems", [50, 200])
def test_intervals_of_shares_near_0_and_1_hold_their_confidence(num_problems: int) -> None:
    # Exactly, over the binomial distribution: with k = n, pass@k is a share of problems. Wilson's own interval holds
    # a share of 1 - 0.18/n in 84 of 100 repetitions.
    intervals = [avg_at_k([1] * hits + [0] * (num_problems - hits), 1) for hits in range(num_problems + 1)]
    for expected_misses in (0.05, 0.18, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0):
        for share in (expected_misses / num_problems, 1 - expected_misses / num_problems):
            held = sum(
                math.comb(num_problems, hits) * share**hits * (1 - share) ** (num_problems - hits)
                for hits, interval in enumerate(intervals)
                if interval.low <= share <= interval.high
            )
            assert held >= 0.91, (expected_misses, held)


def test_figures() -> None:
    result = figures([0, 0, 2, 8], 8, greedy_rewards=[0, 0, 1, 1])
    assert result.num_problems == 4
    assert result.avg_at_k.value == 10 / 32
    assert result.greedy is not None
    assert result.greedy.value == 0.5
    assert list(result.pass_at) == [1, 2, 4, 8]
    assert result.pass_at[8].value == 0.5
    assert result.share_none_correct == 0.5
    assert result.share_all_correct == 0.25


def test_pass_at_includes_the_number_of_samples() -> None:
    assert list(figures([0, 6], 6).pass_at) == [1, 2, 4, 6]
    assert figures([0, 1], 1).greedy is None


def test_paired_difference() -> None:
    # Differences 0.25, 0, 0.5, 0.25: mean 0.25, sample variance (0 + 0.0625 + 0.0625 + 0) / 3, so s = 0.2041 and
    # the half width is 1.96 · 0.2041 / 2 = 0.2000.
    interval = paired_difference([0, 0.5, 0.25, 0.75], [0.25, 0.5, 0.75, 1])
    assert interval.value == 0.25
    assert interval.high - interval.value == pytest.approx(0.2000, abs=5e-5)
    assert interval.value - interval.low == pytest.approx(0.2000, abs=5e-5)


def test_what_two_evaluations_share_cancels() -> None:
    first = [i / 100 for i in range(100)]
    interval = paired_difference(first, [value + 0.5 for value in first])
    assert interval.low == pytest.approx(0.5)
    assert interval.high == pytest.approx(0.5)


@pytest.mark.parametrize(("counts", "num_samples"), [([], 8), ([9], 8), ([-1], 8)])
def test_impossible_counts_are_refused(counts: list[int], num_samples: int) -> None:
    with pytest.raises(ValueError, match=r"no problems|of 8 responses"):
        figures(counts, num_samples)


@pytest.mark.parametrize("k", [0, 9])
def test_k_outside_the_samples_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=r"1\.\.8"):
        pass_at_k([1], 8, k)


@pytest.mark.parametrize(("first", "second"), [([0.5], [0.5]), ([0, 1], [0, 1, 1])])
def test_pairs_must_match(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="paired difference"):
        paired_difference(first, second)
