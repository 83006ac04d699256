from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.thresholds import (
    MeanAccuracy,
    ThresholdRange,
    Thresholds,
    admitting_r_tot_intervals,
    count_limits,
    difficult_max_count,
    empty_r_tot_intervals,
    threshold_at,
)

C2 = (Fraction(1, 8), Fraction(4, 8))
C3 = (Fraction(2, 8), Fraction(5, 8))


def thresholds(r_tot: Fraction, *, group_size: int = 8, c1: Fraction = Fraction(1, 8)) -> Thresholds:
    return Thresholds.at(r_tot, c1=c1, c2=C2, c3=C3, group_size=group_size)


@pytest.mark.parametrize(
    ("r_tot", "c2"),
    [
        (Fraction(0), Fraction(1, 8)),
        (Fraction(1), Fraction(4, 8)),
        # 1/3·(4/8 - 1/8) + 1/8 = 2/8.
        (Fraction(1, 3), Fraction(2, 8)),
    ],
)
def test_thresholds_are_linear_in_r_tot(r_tot: Fraction, c2: Fraction) -> None:
    assert threshold_at(r_tot, C2) == c2


def test_a_range_with_equal_ends_is_fixed() -> None:
    assert threshold_at(Fraction(7, 9), (Fraction(1, 3), Fraction(1, 3))) == Fraction(1, 3)


@pytest.mark.parametrize(
    ("c1", "group_size", "largest"),
    [
        (Fraction(0), 8, 0),
        (Fraction(1, 8), 8, 1),
        (Fraction(1, 8) - Fraction(1, 10**9), 8, 0),
        (Fraction(1, 8), 4, 0),
        # 0.3 of 10 is exactly 3, which a float product of 0.1·3 would miss.
        (Fraction(3, 10), 10, 3),
    ],
)
def test_difficult_counts_reach_up_to_c1_inclusive(c1: Fraction, group_size: int, largest: int) -> None:
    assert difficult_max_count(c1, group_size) == largest


fractions = st.fractions(min_value=0, max_value=1, max_denominator=1000)


@given(
    r_tots=st.lists(fractions, max_size=5),
    c1=fractions,
    c2=st.tuples(fractions, fractions),
    c3=st.tuples(fractions, fractions),
    group_size=st.integers(1, 64),
)
def test_the_counts_of_many_steps_are_those_of_each(
    r_tots: list[Fraction], c1: Fraction, c2: ThresholdRange, c3: ThresholdRange, group_size: int
) -> None:
    each = [Thresholds.at(r_tot, c1=c1, c2=c2, c3=c3, group_size=group_size) for r_tot in r_tots]
    found = count_limits(r_tots, c1=c1, c2=c2, c3=c3, group_size=group_size)
    assert found == [(one.difficult_max, one.reusable_min, one.reusable_max) for one in each]
    assert found == [
        (
            math.floor(c1 * group_size),
            math.ceil(threshold_at(r_tot, c2) * group_size),
            math.floor(threshold_at(r_tot, c3) * group_size),
        )
        for r_tot in r_tots
    ]


def test_counts_in_whole_numbers_worked_out_by_hand() -> None:
    # c2·8 = 1/3·3 + 1 = 2 and c3·8 = 1/3·3 + 2 = 3, both included; at 1/4 they are 1.75 and 2.75.
    found = count_limits([Fraction(1, 3), Fraction(1, 4)], c1=Fraction(1, 8), c2=C2, c3=C3, group_size=8)
    assert found == [(1, 2, 3), (1, 2, 2)]


def test_counts_at_each_boundary() -> None:
    # r_tot = 1/3: c2 = 2/8, c3 = 3/8.
    current = thresholds(Fraction(1, 3))
    assert [current.is_difficult(k) for k in range(3)] == [True, True, False]
    assert [current.is_reusable(k) for k in range(1, 5)] == [False, True, True, False]


def test_counts_between_two_multiples_of_one_over_g() -> None:
    # r_tot = 1/2: c2 = 2.5/8, c3 = 3.5/8 hold only 3/8; of 4 responses none: 1.25 and 1.75 hold no whole number.
    assert [k for k in range(9) if thresholds(Fraction(1, 2)).is_reusable(k)] == [3]
    assert [k for k in range(5) if thresholds(Fraction(1, 2), group_size=4).is_reusable(k)] == []


def test_group_size_4_with_table_3_starves_strictly_between_a_third_and_two_thirds() -> None:
    assert empty_r_tot_intervals(C2, C3, 4) == [(Fraction(1, 3), Fraction(2, 3))]
    for r_tot, admits in ((Fraction(1, 3), True), (Fraction(334, 1000), False), (Fraction(2, 3), True)):
        assert any(thresholds(r_tot, group_size=4).is_reusable(k) for k in range(5)) is admits


def test_table_3_never_starves_with_eight_responses() -> None:
    assert empty_r_tot_intervals(C2, C3, 8) == []


def test_fixed_thresholds_admit_always_or_never() -> None:
    half = (Fraction(1, 2), Fraction(1, 2))
    assert empty_r_tot_intervals(half, half, 8) == []
    assert empty_r_tot_intervals(half, half, 7) == [(Fraction(0), Fraction(1))]
    assert admitting_r_tot_intervals(half, half, 7) == []


def test_thresholds_that_fit_at_one_end_only_leave_the_rest_empty() -> None:
    rising = (Fraction(1, 8), Fraction(3, 16))
    assert admitting_r_tot_intervals(rising, rising, 8) == [(Fraction(0), Fraction(0))]
    assert empty_r_tot_intervals(rising, rising, 8) == [(Fraction(0), Fraction(1))]


fine = st.integers(0, 47).map(lambda n: Fraction(n, 48))


@st.composite
def legal_ranges(draw: st.DrawFn) -> tuple[ThresholdRange, ThresholdRange]:
    at_0, at_1 = (sorted(draw(st.tuples(fine, fine))) for _ in range(2))
    return (at_0[0], at_1[0]), (at_0[1], at_1[1])


@given(legal_ranges(), st.integers(2, 12))
def test_empty_intervals_agree_with_trying_every_r_tot(
    ranges: tuple[ThresholdRange, ThresholdRange], group_size: int
) -> None:
    c2, c3 = ranges
    gaps = empty_r_tot_intervals(c2, c3, group_size)
    ends = {end for gap in gaps for end in gap}
    grid = {Fraction(n, 120) for n in range(121)} | ends | {(low + high) / 2 for low, high in gaps}
    for r_tot in grid:
        current = Thresholds.at(r_tot, c1=Fraction(0), c2=c2, c3=c3, group_size=group_size)
        admits = any(c2_k <= Fraction(k, group_size) <= c3_k for k in range(group_size + 1)
                     for c2_k, c3_k in [(threshold_at(r_tot, c2), threshold_at(r_tot, c3))])  # fmt: skip
        assert any(current.is_reusable(k) for k in range(group_size + 1)) is admits
        if any(low < r_tot < high for low, high in gaps):
            assert not admits
        elif r_tot not in (0, 1) or r_tot not in ends:
            # Inside [0, 1] a gap is open: at its ends something is admitted.
            assert admits


def test_r_tot_is_zero_before_the_first_step() -> None:
    assert MeanAccuracy().value == 0


def test_r_tot_weighs_responses_not_steps() -> None:
    mean = MeanAccuracy()
    mean.add_step(8, 8)
    mean.add_step(0, 16)
    # 8 of 24, not the mean of 1 and 0.
    assert mean.value == Fraction(1, 3)


def test_r_tot_forgets_the_eleventh_step_back() -> None:
    mean = MeanAccuracy()
    mean.add_step(10, 10)
    for _ in range(9):
        mean.add_step(0, 10)
    assert mean.value == Fraction(1, 10)
    mean.add_step(0, 10)
    assert mean.value == 0


def test_r_tot_survives_a_checkpoint() -> None:
    mean, restored = MeanAccuracy(), MeanAccuracy()
    for step in range(12):
        mean.add_step(step, 16)
    restored.load_state_dict(json.loads(json.dumps(mean.state_dict())))
    assert restored.value == mean.value
    # The window goes on where it was: both drop the same step next.
    mean.add_step(0, 16)
    restored.add_step(0, 16)
    assert restored.value == mean.value
