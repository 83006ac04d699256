"""Means and intervals over seeds, and moving means, on numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bapo.figures.curve_panels import top_of
from bapo.figures.groups import grouped
from bapo.figures.looks import styles_of
from bapo.figures.seed_curves import (
    MOST_POSITIONS,
    SeedCurve,
    curve_traces,
    metric_curves,
    shown,
    smoothed,
    window_of,
)
from bapo.figures.theme import LIGHT
from tests.support.figure_runs import run

KEY = "critic/rewards/mean"


def test_two_seeds_have_a_mean_and_a_t_interval() -> None:
    groups = grouped([run("a", seed=1, columns={KEY: [0.2, 0.4]}), run("b", seed=2, columns={KEY: [0.4, 0.4]})])
    (curve,) = metric_curves(groups, KEY)
    assert (curve.label, curve.n, curve.x) == ("BAPO", 2, [1, 2])
    assert curve.mean == pytest.approx([0.3, 0.4])
    # s = 0.1·√2, so s/√2 = 0.1; t(0.975, 1) = 12.7062: 0.3 ± 1.27062.
    # At the second step both have the same value, from which no interval follows.
    assert curve.low == pytest.approx([0.3 - 1.27062, None])
    assert curve.high == pytest.approx([0.3 + 1.27062, None])


def test_one_seed_is_a_line_without_a_band_and_says_so() -> None:
    (curve,) = metric_curves(grouped([run("a", columns={KEY: [0.2, 0.4]})]), KEY)
    assert (curve.low, curve.high) == ([None, None], [None, None])
    (line,) = curve_traces(curve, styles_of(["BAPO"], LIGHT)["BAPO"])
    assert line.name == "BAPO (n = 1)"


def test_a_shorter_run_counts_as_far_as_it_goes() -> None:
    runs = [run("a", seed=1, columns={KEY: [0.2, 0.4, 0.6]}), run("b", seed=2, columns={KEY: [0.4]})]
    (curve,) = metric_curves(grouped(runs), KEY)
    assert curve.mean == pytest.approx([0.3, 0.4, 0.6])
    assert [low is None for low in curve.low] == [False, True, True]


def test_a_group_without_the_metric_is_left_out() -> None:
    runs = [run("a", columns={KEY: [0.2]}), run("b", "grpo", columns={KEY: [None]})]
    assert [curve.label for curve in metric_curves(grouped(runs), KEY)] == ["BAPO"]


def test_moving_means_leave_gaps_out() -> None:
    values = np.array([1.0, math.nan, 3.0, math.nan, math.nan])
    # Windows of two: [1], [1], [3], [3], nothing.
    assert smoothed(values, 2) == pytest.approx([1, 1, 3, 3, math.nan], nan_ok=True)
    assert smoothed(np.array([math.nan]), 10) == pytest.approx([math.nan], nan_ok=True)


def test_a_window_of_one_changes_nothing() -> None:
    assert smoothed(np.array([1.0, 5.0]), 1) == pytest.approx([1, 5])


def test_long_curves_are_thinned_out_and_the_window_covers_the_gaps() -> None:
    long = run("a", columns={KEY: [0.5] * 3000})
    (curve,) = metric_curves(grouped([long]), KEY, window=window_of([long]))
    assert len(curve.x) == MOST_POSITIONS
    assert (curve.x[0], curve.x[-1]) == (1, 3000)
    # 3000 steps / 150 positions.
    assert window_of([long]) == 20
    assert window_of([run("b", columns={KEY: [0.5] * 1500})]) == 10
    assert window_of([run("b", columns={KEY: [0.5] * 1501})]) == 11


def test_the_band_goes_there_and_back() -> None:
    curve = SeedCurve("BAPO", 3, [1, 2], [0.5, 0.6], [0.4, 0.5], [0.6, 0.7])
    band, line = curve_traces(curve, styles_of(["BAPO"], LIGHT)["BAPO"], axis="2", hover=".1%")
    assert (list(band.x), list(band.y)) == ([1, 2, 2, 1], [0.6, 0.7, 0.5, 0.4])
    assert (band.xaxis, line.yaxis) == ("x2", "y2")
    assert list(line.customdata) == [" [40.0%, 60.0%]", " [50.0%, 70.0%]"]


def test_labels_are_text_and_not_too_long() -> None:
    assert shown("<b>&") == "&lt;b&gt;&amp;"
    assert len(shown("x" * 200)) == 60


def test_an_interval_over_two_runs_does_not_choose_the_axis() -> None:
    wide = SeedCurve("a", 2, [1], [0.3], [-1.0], [1.6])
    assert top_of([wide]) == pytest.approx(0.3)
    assert top_of([wide._replace(n=3, high=[0.5])]) == pytest.approx(0.5)
    assert top_of([wide._replace(n=3)]) == pytest.approx(0.6), "at most twice the mean"
    assert top_of([]) == 0
