"""Numbers in every notation: the value that is read, and which two are equal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.tasks.numerals import LARGEST_EXPONENT, equal_numerals, read_numeral


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", "42"),
        ("-1,234.50", "-1234.5"),
        ("1 234 567", "1234567"),
        (".5", "1/2"),
        ("4.5e33", f"{45 * 10**32}"),
        (r"4.5 \times 10^{33}", f"{45 * 10**32}"),
        ("2.88e-19", f"288/{10**21}"),
        ("10^{-5}", "1/100000"),
        (r"\frac{1}{3}", "1/3"),
        (r"-\frac12", "-1/2"),
        ("11/2", "11/2"),
        ("1 1/2", "3/2"),
        (r"1\frac{1}{2}", "3/2"),
        ("-1 1/2", "-3/2"),
        ("12 11/13", "167/13"),  # 12 · 13 + 11
    ],
)
def test_a_number_is_read_exactly(text: str, value: str) -> None:
    found = read_numeral(text)
    assert found is not None
    assert found.value == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "5x",
        "1 0",
        "1 2 3",
        "12 30",
        "1,00",
        "1/0",
        r"3\frac{4}{3}",
        "1.2.3",
        "--1",
        f"1e{LARGEST_EXPONENT + 1}",
    ],
)
def test_anything_else_is_no_number(text: str) -> None:
    assert read_numeral(text) is None


def equal(first: str, second: str) -> bool:
    one, other = read_numeral(first), read_numeral(second)
    assert one is not None
    assert other is not None
    return equal_numerals(one, other)


def test_decimals_are_compared_within_a_relative_tolerance() -> None:
    # One part in 10⁹, however small or large the numbers are.
    assert equal("1", "1.000000001")
    assert not equal("1", "1.000000002")
    assert equal("1e-300", "1.000000001e-300")
    assert not equal("1e-300", "1.000000002e-300")
    # Two integers have none.
    assert not equal("10000000000", "10000000001")


def test_a_decimal_of_six_digits_equals_the_fraction_that_it_rounds_or_cuts() -> None:
    assert equal("0.666667", "2/3")  # rounded
    assert equal("0.666666", "2/3")  # cut
    assert not equal("0.666668", "2/3")
    assert not equal("0.66667", "2/3")  # five digits
    assert not equal("0.666667", "0.666666")  # two decimals


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9)


@given(decimals, st.integers(-40, 40))
def test_every_notation_of_a_number_is_the_same_number(number: Fraction, exponent: int) -> None:
    expected = Fraction(number) * Fraction(10) ** exponent
    for text in (
        f"{number}e{exponent}",
        rf"{number} \times 10^{{{exponent}}}",
        rf"{number:,} \cdot 10^{{{exponent}}}",
        f"{expected.numerator}/{expected.denominator}",
        rf"\frac{{{expected.numerator}}}{{{expected.denominator}}}",
    ):
        found = read_numeral(text)
        assert found is not None, text
        assert found.value == expected, text
