from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.config.fractions import MAX_DIGITS, format_fraction, parse_fraction


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("1/8", Fraction(1, 8)),
        (0.125, Fraction(1, 8)),
        ("0.125", Fraction(1, 8)),
        (" 2/16 ", Fraction(1, 8)),
        (".5", Fraction(1, 2)),
        ("1.25e-1", Fraction(1, 8)),
        (0, Fraction(0)),
        # 0.1 counts as the decimal it prints as, not as the nearest binary fraction.
        (0.1, Fraction(1, 10)),
        (0.30000000000000004, Fraction(30000000000000004, 10**17)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers_and_strings_are_read_exactly(written: Any, exact: Fraction) -> None:
    assert parse_fraction(written) == exact


@pytest.mark.parametrize(
    "written", ["", "a", "1/", "1/2/3", "1e", "0x1", "1_0", "nan", "inf", float("nan"), float("inf"), None, [1], {}]
)
def test_what_is_no_number_is_refused_with_an_example(written: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a number: write 0\.125"):
        parse_fraction(written)


def test_a_flag_is_no_number() -> None:
    with pytest.raises(ValueError, match="must be a number"):
        parse_fraction(True)


def test_division_by_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="divide by zero"):
        parse_fraction("1/0")


def test_numerator_and_denominator_are_bounded() -> None:
    largest = 10**MAX_DIGITS - 1
    assert parse_fraction(f"1/{largest}") == Fraction(1, largest)
    for too_long in (f"1/{largest + 1}", f"{largest + 1}", "1e999", "1e-999", "0." + "3" * (MAX_DIGITS + 1)):
        with pytest.raises(ValueError, match="at most 40 digits"):
            parse_fraction(too_long)


@pytest.mark.parametrize("written", ["1e999999999", "1e-999999999", "1e9_999_999", "9" * 5000 + "e1" * 2])
def test_numbers_that_would_fill_the_memory_are_not_computed(written: str) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        parse_fraction(written)


def test_a_fraction_is_written_as_a_float_where_that_is_exact() -> None:
    assert format_fraction(Fraction(1, 8)) == 0.125
    assert format_fraction(Fraction(3, 10)) == 0.3
    assert format_fraction(Fraction(1, 3)) == "1/3"


terms = st.integers(0, 10**MAX_DIGITS - 1)


@given(terms, terms.filter(bool))
def test_every_fraction_comes_back_from_how_it_is_written(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    assert parse_fraction(format_fraction(value)) == value


@given(st.floats(1e-20, 1))
def test_every_float_comes_back_as_itself(number: float) -> None:
    assert format_fraction(parse_fraction(number)) == number
