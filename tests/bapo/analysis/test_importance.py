"""Shares of the variance: worked grids, chance, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bapo.analysis.importance import importance, strength_interval
from bapo.analysis.importance_results import Importance

Points = list[dict[str, Any]]


def grid(seeds: int, **fields: Sequence[Any]) -> tuple[Points, list[int]]:
    points = [dict(zip(fields, values, strict=True)) for values in itertools.product(*fields.values())]
    return [point for _ in range(seeds) for point in points], [seed for seed in range(seeds) for _ in points]


def shares(found: Importance) -> dict[str, float]:
    return {" × ".join(share.fields): share.value for share in found.shares}


def test_a_grid_of_two_fields_is_decomposed_by_hand() -> None:
    points, seeds = grid(2, a=[0, 1], b=[0, 1])
    # Cells 0, 4, 8, 16 with ±1 by seed: seed 0 has +1, −1, −1, +1 and seed 1 the opposite.
    results = [1.0, 3.0, 7.0, 17.0, -1.0, 5.0, 9.0, 15.0]
    found = importance(points, results, seeds)
    # Means: a 2 and 12, b 4 and 10, all 7. SS_a = 8 · 5² = 200, SS_b = 8 · 3² = 72, SS_ab = 8 · 1² = 8.
    # Both seeds have the mean 7: SS_seeds = 0. Noise: 8 · 1² = 8 on 8 − 4 − 1 = 3 degrees of freedom: 8 / 3.
    # Total 288. ε² of a: (200 − 8/3) / 288 = 0.68519, of b: (72 − 8/3) / 288 = 0.24074, of both: (8 − 8/3) / 288.
    assert found.decomposition == "grid"
    assert shares(found) == {
        "a": pytest.approx(0.68519, abs=1e-5),
        "b": pytest.approx(0.24074, abs=1e-5),
        "a × b": pytest.approx(0.01852, abs=1e-5),
    }
    # Noise has 6 degrees of freedom in the total: 8 − 1 and without the seeds': 6 · 8/3 / 288 = 0.05556; sum 1.
    assert found.noise == pytest.approx(0.05556, abs=1e-5)
    assert sum(shares(found).values()) + (found.noise or 0) == pytest.approx(1.0)
    # F(1, 3) at 5 %/3 is 23.59: level (23.59 − 1) · 8/3 / 288 = 0.2091; a and b are above it.
    assert found.shares[0].null == pytest.approx(0.2091, abs=1e-4)
    assert [share.is_shown for share in found.shares] == [True, True, False]
    assert all(share.low <= share.value <= share.high for share in found.shares)


def test_a_shift_by_seed_is_neither_noise_nor_a_field() -> None:
    points, seeds = grid(3, a=[0, 1], b=[0, 1])
    random = np.random.default_rng(0)
    results = random.normal(size=12)
    shifted = results + np.repeat([100.0, -50.0, 7.0], 4)
    assert shares(importance(points, shifted.tolist(), seeds)) == pytest.approx(
        shares(importance(points, results.tolist(), seeds))
    )


def test_without_repetitions_the_higher_interactions_are_the_noise() -> None:
    points, _ = grid(1, a=[0, 1], b=[0, 1, 2], c=[0, 1, 2])
    random = np.random.default_rng(1)
    found = importance(points, (random.normal(size=18) + [9.0 * point["a"] for point in points]).tolist(), [1] * 18)
    # (2 − 1)(3 − 1)(3 − 1) = 4 degrees of freedom.
    assert (found.decomposition, found.noise_source, found.higher) == ("grid", "interactions", None)
    assert (found.shares[0].fields, found.shares[0].is_shown) == (["a"], True)


def test_fields_that_change_in_step_are_one() -> None:
    points, seeds = grid(4, a=[0, 1])
    both = [{**point, "b": f"with {point['a']}"} for point in points]
    found = importance(both, [0.0, 5.0, 1.0, 5.5, 0.5, 6.0, 0.2, 5.1], seeds)
    [share] = found.shares
    assert (share.fields, share.together_with) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("points", "results", "reason"),
    [
        ([{"a": place % 2} for place in range(7)], range(7), "at least 8 runs with a result, and there are 7"),
        ([{"a": 1}] * 8, range(8), "differ in no field but the seed"),
        ([{"a": place % 2} for place in range(8)], [1.0] * 8, "the same result"),
        ([{"a": place % 3} for place in range(8)], range(8), "at least 12 results, and there are 8"),
        ([{"a": f"name {place}"} for place in range(12)], range(12), "another value in almost every run"),
    ],
)
def test_too_little_is_refused_with_its_reason(points: Points, results: Sequence[float], reason: str) -> None:
    found = importance(points, [float(each) for each in results], [None] * len(points))
    assert found.decomposition is None
    assert reason in found.reason
    assert not found.shares


def test_other_runs_are_read_field_by_field_on_ranks() -> None:
    random = np.random.default_rng(2)
    points: Points = [
        {"rate": float(random.random()), "kind": "xyz"[int(random.integers(3))], "twin": 0} for _ in range(40)
    ]
    points = [{**point, "twin": round(point["rate"], 1)} for point in points]
    results = [np.exp(9 * point["rate"]) + random.normal() for point in points]
    found = importance(points, results, [None] * 40)
    assert found.decomposition == "ranks"
    by_field = {share.fields[0]: share for share in found.shares}
    assert (by_field["rate"].is_shown, by_field["kind"].is_shown) == (True, False)
    assert by_field["rate"].num_values == 4
    assert (by_field["rate"].entangled_with, by_field["kind"].entangled_with) == (["twin"], [])
    assert found.noise is None


def test_ties_and_the_order_of_runs_change_nothing() -> None:
    points: Points = [{"a": place % 3, "b": place % 2} for place in range(15)]
    results = [float(place % 4) for place in range(15)]
    order = np.random.default_rng(3).permutation(15)
    found = importance(points, results, [None] * 15)
    again = importance([points[i] for i in order], [results[i] for i in order], [None] * 15)
    assert shares(found) == pytest.approx(shares(again))


def test_false_alarms_on_grids_are_at_most_5_percent() -> None:
    random = np.random.default_rng(4)
    points, seeds = grid(3, a=[1, 2], b=["x", "y", "z"])
    alarms = sum(
        any(share.is_shown for share in importance(points, _noise(random, seeds), seeds).shares) for _ in range(400)
    )
    # Expected at most 20, with a standard deviation of sqrt(400 · 0.05 · 0.95) = 4.4.
    assert alarms <= 20 + 2 * 4.4


def _noise(random: np.random.Generator, seeds: Sequence[int]) -> list[float]:
    shifts = random.normal(size=max(seeds) + 1)
    return [float(shifts[seed] + random.normal()) for seed in seeds]


def test_false_alarms_on_other_runs_are_at_most_5_percent() -> None:
    random = np.random.default_rng(6)
    alarms = 0
    for _ in range(120):
        points: Points = [
            {"a": float(random.random()), "b": int(random.integers(3)), "c": bool(random.integers(2))}
            for _ in range(20)
        ]
        # Heavy tails: only ranks are looked at.
        found = importance(points, random.standard_cauchy(20).tolist(), [None] * 20)
        alarms += any(share.is_shown for share in found.shares)
    # Expected at most 6, with a standard deviation of sqrt(120 · 0.05 · 0.95) = 2.4.
    assert alarms <= 6 + 2 * 2.4


def test_the_interval_holds_the_share_in_95_of_100_sweeps() -> None:
    random = np.random.default_rng(7)
    # λ = 12 of F(2, 12): each side of the interval is left in 2.5 of 100.
    ratios = (random.noncentral_chisquare(2, 12.0, 1500) / 2) / (random.chisquare(12, 1500) / 12)
    bounds = [strength_interval(2, 12, float(ratio)) for ratio in ratios]
    held = np.mean([low <= 12.0 <= high for low, high in bounds])
    assert held == pytest.approx(0.95, abs=0.015)
