"""What was saved at equal accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bapo.analysis.savings import Expense, savings


def runs(spent: Sequence[float], *, reached: bool = True, first_seed: int = 1) -> list[Expense]:
    return [Expense(first_seed + index, each, reached) for index, each in enumerate(spent)]


def test_the_share_is_of_the_means() -> None:
    # 1 - (2 + 4) / (4 + 6) = 0.4.
    found = savings(runs([2, 4]), runs([4, 6]))
    assert found is not None
    assert (found.value, found.n, found.num_baseline, found.is_least) == (pytest.approx(0.4), 2, 2, False)
    # Two of four pairs of seeds are alike: 1 - 2/4 = 0.5 and 1 - 4/6 = 0.333 are its ends.
    assert (found.low, found.high) == (pytest.approx(1 / 3), pytest.approx(0.5))


def test_runs_of_other_seeds_are_drawn_apart() -> None:
    found = savings(runs([2, 4]), runs([4, 6], first_seed=11))
    assert found is not None
    # The ends are 1 - 4/4 = 0 and 1 - 2/6.
    assert (found.low, found.high) == (pytest.approx(0.0), pytest.approx(2 / 3))


def test_the_interval_leaves_out_a_fortieth_of_the_resamples_on_each_side() -> None:
    # Of 3^3 = 27 equally likely resamples, one is thrice the run that spent 1 and one thrice that which spent 3: each
    # is 3.7 % of them, more than the 2.5 % beyond either bound. 1 - 3/4 and 1 - 1/4.
    found = savings(runs([1, 2, 3]), runs([4, 4, 4]))
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(0.25), pytest.approx(0.75))
    # Of 4^4 = 256, 1 adds up to 4 and 4 to 5, 2 % together; the next 10 add up to 6, and so at the other end to 14:
    # 1 - 14/16 and 1 - 6/16.
    found = savings(runs([1, 2, 3, 4]), runs([4, 4, 4, 4]))
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(0.125), pytest.approx(0.625))


def test_what_costs_more_saved_less_than_nothing() -> None:
    found = savings(runs([5, 6, 7]), runs([4, 4, 4]))
    assert found is not None
    # The ends are 1 - 7/4 and 1 - 5/4.
    assert (found.value, found.low, found.high) == (pytest.approx(-0.5), pytest.approx(-0.75), pytest.approx(-0.25))


def test_seeds_that_all_spent_the_same_give_no_interval() -> None:
    found = savings(runs([6, 6, 6]), runs([4, 4, 4]))
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == (pytest.approx(-0.5), None, None, 3)


def test_runs_of_one_seed_count_as_their_mean() -> None:
    found = savings([Expense(1, 2, True), Expense(1, 4, True)], runs([5, 6]))
    assert found is not None
    # 1 - 3/5.5; a single seed on our side gives no interval.
    assert (found.value, found.n, found.low) == (pytest.approx(1 - 3 / 5.5), 1, None)


@pytest.mark.parametrize(("ours", "baseline"), [([2], [4]), ([2, 3], [4]), ([2], [4, 5])])
def test_one_run_gives_no_interval(ours: list[float], baseline: list[float]) -> None:
    found = savings(runs(ours), runs(baseline))
    assert found is not None
    assert (found.low, found.high) == (None, None)


def test_a_baseline_run_that_spent_nothing_leaves_the_share_without_an_interval() -> None:
    # 1 - (2 + 4) / (0 + 8) = 0.25; drawn twice, the first pair would be 1 - 4/0.
    found = savings(runs([2, 4]), runs([0, 8]))
    assert found is not None
    assert (found.value, found.low, found.high) == (pytest.approx(0.25), None, None)


def test_a_baseline_that_never_gets_there_gives_the_least_that_was_saved() -> None:
    # The second run spent 6 without reaching it: 1 - 6/10 at least.
    found = savings(runs([2, 4]), [*runs([4]), Expense(2, 6, has_reached=False)])
    assert found is not None
    assert (found.value, found.low, found.high, found.is_least) == (pytest.approx(0.4), None, None, True)


def test_without_a_run_that_gets_there_nothing_is_claimed() -> None:
    assert savings(runs([2, 4], reached=False), runs([4, 6])) is None
    assert savings([*runs([2]), Expense(2, 9, has_reached=False)], runs([4, 6])) is None
    assert savings([], runs([4])) is None
    assert savings(runs([0.0]), runs([0.0])) is None
