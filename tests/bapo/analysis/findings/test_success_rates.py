"""What counts of right responses say about other group sizes."""

from __future__ import annotations

import numpy as np
import pytest

from bapo.analysis.findings.estimates import clustered_share, slope_of, t95
from bapo.analysis.findings.success_rates import Beta, Mixture, fit_beta, fit_mixture, pairs_of


def test_shares_of_a_mixture_are_the_means_over_its_prompts() -> None:
    # Half at 0, half at 1/2; G = 2: wrong 1/2 + 1/2·1/4, right 1/2·1/4.
    shares = Mixture(np.array([0.0, 0.5]), np.array([0.5, 0.5])).groups_of(2)
    assert shares == pytest.approx((0.625, 0.25, 0.125))


def test_all_wrong_groups_are_hopeless_where_the_prompt_never_succeeds() -> None:
    mixture = Mixture(np.array([0.0, 0.5]), np.array([0.5, 0.5]))
    # (1-p)^2: 1/2 of weight from p = 0, 1/8 from p = 1/2: 0.5 / 0.625.
    assert mixture.hopeless_share(2) == pytest.approx(0.8)


def test_a_beta_has_the_group_shares_of_the_beta_binomial() -> None:
    # Uniform p: E[p^8] = E[(1-p)^8] = 1/9.
    shares = Beta(1.0, 1.0).mixture().groups_of(8)
    assert shares == pytest.approx((1 / 9, 7 / 9, 1 / 9), abs=1e-4)


def test_both_fits_find_the_shares_of_larger_groups_from_smaller_ones() -> None:
    draws = np.random.default_rng(1)
    rates = draws.beta(0.6, 1.4, 20_000)
    pairs = pairs_of(draws.binomial(8, rates), np.full(20_000, 8))
    truth = Beta(0.6, 1.4).mixture().groups_of(16)
    assert fit_beta(pairs).mixture().groups_of(16) == pytest.approx(truth, abs=0.01)
    assert fit_mixture(pairs).groups_of(16) == pytest.approx(truth, abs=0.03)
    assert tuple(fit_beta(pairs)) == pytest.approx((0.6, 1.4), rel=0.1)


def test_prompts_with_thousands_of_responses_are_as_good_as_others() -> None:
    # e^(4000 log 1/2) is 0 to a double: half of the prompts are right every second time, half three times of four.
    found = fit_mixture(pairs_of(np.array([2_000, 3_000]), np.array([4_000, 4_000])))
    assert found.groups_of(1).all_right == pytest.approx(0.625, abs=0.01)


def test_more_responses_without_a_hit_make_a_prompt_more_surely_unsolvable() -> None:
    prior = Mixture(np.array([0.0, 0.25]), np.array([0.5, 0.5]))
    # After n wrong responses: 1 / (1 + 0.75^n); 0.75^8 = 0.1001.
    assert prior.below_without_hit(1 / 32, 0) == pytest.approx(0.5)
    assert prior.below_without_hit(1 / 32, 8) == pytest.approx(1 / 1.1001, abs=1e-4)


def test_an_interval_over_clusters_is_wider_than_one_over_groups() -> None:
    # Two prompts of four: each all hits or none. As 40 groups the width would be 1.96·√(0.25/40) = 0.155.
    estimate = clustered_share(np.array([10.0, 10.0, 0.0, 0.0]), np.full(4, 10.0))
    assert estimate.value == 0.5
    # Var = 4/3 · 4·25 / 1600 = 0.0833; 1.96·0.2887 = 0.566, cut at 0 and 1.
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_clusters_without_spread_have_wilsons_interval() -> None:
    # All groups of ten prompts: Wilson's for 10 of 10 is [10 / (10 + 1.96²), 1]. One point would claim certainty.
    every = clustered_share(np.full(10, 4.0), np.full(10, 4.0))
    assert (every.value, every.low, every.high) == (1.0, pytest.approx(10 / (10 + 1.96**2), abs=1e-4), 1.0)
    # Half of the groups of each prompt: Wilson's for 20 of 40.
    half = clustered_share(np.full(10, 2.0), np.full(10, 4.0))
    assert (half.low, half.high) == (pytest.approx(0.3520, abs=1e-3), pytest.approx(0.6480, abs=1e-3))


def test_students_quantile_and_a_straight_line() -> None:
    assert t95(10) == pytest.approx(2.228, abs=0.002)
    slope = slope_of(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 7.0]))
    assert slope == pytest.approx((2.0, 2.0, 2.0))
