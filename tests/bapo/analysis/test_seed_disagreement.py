"""Seeds that disagree about a difference, worked by hand."""

from __future__ import annotations

import pytest

from bapo.analysis.result import SeedDisagreement
from bapo.analysis.seed_disagreement import seed_disagreement, seed_disagreement_text


def test_seeds_that_vary_more_than_their_difference_disagree() -> None:
    # Mean 1, s = √(((5 - 1)² + (-3 - 1)² + (1 - 1)²) / 2) = 4 points; t(0.975, 2) = 4.303: 1 ± 9.9.
    found = seed_disagreement([0.05, -0.03, 0.01])
    assert found is not None
    assert (found.mean, found.deviation) == (pytest.approx(0.01), pytest.approx(0.04))
    assert (found.n, found.num_opposed) == (3, 1)
    # ((1.979 + 0.842) · 4)² = 127.3: with 128 seeds t(0.975, 127) = 1.979.
    assert found.seeds_needed == 128


@pytest.mark.parametrize(
    "differences",
    [
        pytest.param([], id="no seed in common"),
        pytest.param([0.02], id="one seed says nothing of others"),
        pytest.param([0.03, 0.02, 0.04], id="they vary by less than they are"),
        pytest.param([0.03, 0.02, 0.04, -0.01] * 5, id="many seeds show it although one in four goes the other way"),
        pytest.param([0.0, 0.0], id="no difference and no doubt"),
    ],
)
def test_other_differences_are_as_good_as_their_interval_says(differences: list[float]) -> None:
    assert seed_disagreement(differences) is None


def test_no_number_of_seeds_shows_no_difference() -> None:
    found = seed_disagreement([0.02, -0.02])
    assert found is not None
    assert found.seeds_needed is None


def test_it_is_said_with_what_would_be_needed() -> None:
    found = SeedDisagreement(mean=0.01, deviation=0.04, n=3, num_opposed=1, seeds_needed=128)
    assert seed_disagreement_text("BAPO against GRPO on CD-34", found) == (
        "BAPO against GRPO on CD-34: the seeds disagree by more than the difference. It is +1.0 points on average over "
        "3 seeds, with a standard deviation of 4.0 points, and 1 of them the other way: no evidence of a difference. "
        "A difference of this size takes about 128 seeds to show."
    )
    found = SeedDisagreement(mean=0.0, deviation=0.04, n=2, num_opposed=0, seeds_needed=None)
    assert "More than 1,000 seeds would be needed" in seed_disagreement_text("x", found)
