"""The smallest difference that a paired comparison over seeds shows, and the spread that it is worked out from."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from bapo.analysis.comparison import t_quantile
from bapo.analysis.power import detectable_difference, paired_spread, power_of
from bapo.study.power import SHIPPED_DEVIATION, SHIPPED_LEAST, SHIPPED_MOST, power_of_design

DOCUMENTS = Path(__file__).parents[3] / "docs" / "studies"
_ROW = re.compile(r"\| (\d+) \| [+-][\d.]+ \[([+-][\d.]+), ([+-][\d.]+)\] \| [+-][\d.]+ \|")


@pytest.mark.parametrize(("num_seeds", "effect"), [(10, 0.996), (20, 0.660), (5, 1.682), (3, 3.264)])
def test_the_detectable_effect_is_that_of_published_tables(num_seeds: int, effect: float) -> None:
    # Paired t test, two-sided 5 %, 80 % power: G*Power gives dz = 0.9960 for n = 10 and 0.6604 for n = 20.
    found = detectable_difference(num_seeds, 1.0)
    assert found == pytest.approx(effect, abs=5e-4)
    assert power_of(num_seeds, found or 0.0, 1.0) == pytest.approx(0.8)


def test_five_seeds_show_1_68_standard_deviations() -> None:
    # 1.682 · 1.25 points = 2.1 points.
    assert power_of_design(5, given=0.0125).text == "5 seeds show 2.1 points"
    assert detectable_difference(5, 0.0125) == pytest.approx(1.682 * 0.0125, abs=1e-5)


def test_one_seed_shows_nothing() -> None:
    found = power_of_design(1)
    assert (found.detectable, found.detectable_low) == (None, None)
    assert found.text == "One seed shows no difference: it has no interval"
    assert power_of(1, 1.0, 1.0) == 0.0


def test_power_is_the_share_of_simulated_studies_whose_interval_excludes_0() -> None:
    random = np.random.default_rng(5)
    values = random.normal(1.5, 1.0, (20_000, 5))
    half_width = float(t_quantile(4)) * values.std(axis=1, ddof=1) / math.sqrt(5)
    shown = float(np.mean(np.abs(values.mean(axis=1)) > half_width))
    # A standard error of sqrt(0.7 · 0.3 / 20,000) = 0.0032.
    assert power_of(5, 1.5, 1.0) == pytest.approx(shown, abs=0.013)


def test_without_a_difference_the_power_is_the_level() -> None:
    assert power_of(7, 0.0, 1.0) == pytest.approx(0.05)


def test_the_spread_is_that_of_paired_differences() -> None:
    # Differences 1, 2, 3, 4, 5 over five seeds: variance 2.5, one pair with 4 degrees of freedom.
    found = paired_spread([{1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 5.0}, dict.fromkeys(range(1, 6), 0.0)])
    assert found is not None
    assert (found.deviation, found.freedom) == (pytest.approx(math.sqrt(2.5)), 4)
    assert (found.num_settings, found.num_results) == (2, 10)
    # χ²(0.975; 4) = 11.143 and χ²(0.025; 4) = 0.4844.
    assert found.low == pytest.approx(math.sqrt(2.5 * 4 / 11.143), rel=1e-3)
    assert found.high == pytest.approx(math.sqrt(2.5 * 4 / 0.4844), rel=1e-3)


def test_a_shift_of_a_seed_in_all_settings_is_no_spread() -> None:
    shifts = {1: 10.0, 2: -5.0, 3: 0.0}
    settings = [
        {seed: shifts[seed] + noise[seed - 1] for seed in shifts} for noise in ([0, 1, 2], [1, 0, 2], [2, 0, 1])
    ]
    found = paired_spread(settings)
    assert found is not None
    # Differences (−1, 1, 0), (−2, 1, 1), (−1, 0, 1): variances 1, 3, 1; k = 3 settings, n = 3: (3 − 1)(3 − 1) = 4.
    assert (found.deviation, found.freedom) == (pytest.approx(math.sqrt(5 / 3)), 4)


def test_too_few_runs_say_nothing_about_the_spread() -> None:
    # Two settings over four seeds have 3 degrees of freedom.
    assert paired_spread([{1: 1.0, 2: 0.0, 3: 0.5, 4: 0.2}, {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0}]) is None
    assert paired_spread([{1: 1.0}, {2: 1.0}]) is None
    assert paired_spread([]) is None


def test_the_shipped_spread_is_what_the_shipped_studies_measured() -> None:
    deviations = []
    for name in ("planning-mini", "planning-mini-hard", "ablations-mini", "stability-mini"):
        parts = (DOCUMENTS / f"{name}.md").read_text().split("after equal steps\n")[1:]
        for match in (match for part in parts for match in _ROW.finditer(part.split("\n#")[0])):
            assert match[1] == "5"
            half_width = (float(match[3]) - float(match[2])) / 2
            deviations.append(half_width * math.sqrt(5) / float(t_quantile(4)) / 100)
    assert len(deviations) == 50
    assert round(median(deviations), 4) == SHIPPED_DEVIATION
    assert (round(min(deviations), 4), round(max(deviations), 4)) == (SHIPPED_LEAST, SHIPPED_MOST)
    assert power_of_design(5).source == "shipped"
