"""Exact fractions in a config: `0.125`, `"1/8"` and `"0.125"` are the same threshold."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

MAX_DIGITS = 40
"""Maximum number of digits of numerator and denominator: "1e999999999" would fill the memory of a server."""
_NUMBER = re.compile(r"[-+]?(\d+/\d+|(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?)", re.ASCII | re.IGNORECASE)


def parse_fraction(value: Any) -> Fraction:
    """Return the exact value of a number or of a string such as "1/8"; a float counts as the decimal it prints as.

    Raises ValueError for anything else.
    """
    if isinstance(value, Fraction):
        return value
    text = str(value).strip() if isinstance(value, int | float | str) else ""
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        raise ValueError('must be a number: write 0.125 or "1/8"')
    try:
        number = Fraction(text)
    except ZeroDivisionError:
        raise ValueError("must not divide by zero") from None
    if max(abs(number.numerator), number.denominator) >= 10**MAX_DIGITS:
        raise ValueError(f"must be a fraction of numbers with at most {MAX_DIGITS} digits: round it")
    return number


def format_fraction(value: Fraction) -> float | str:
    """Return the float that parses back to exactly this fraction, or else the string "p/q"."""
    number = float(value)
    return number if Fraction(str(number)) == value else f"{value.numerator}/{value.denominator}"


ExactFraction = Annotated[
    Fraction,
    BeforeValidator(parse_fraction),
    PlainSerializer(format_fraction, return_type=float | str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*[-+]?[0-9./eE+-]+\s*$"}]}),
]
"""A threshold, compared exactly."""
