"""Exact fractions in a config: `0.125`, `"1/8"` and `"0.125"` are the same threshold."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

MAX_CHARACTERS = 60
MAX_MAGNITUDE = 10**9
_LONG_EXPONENT = re.compile(r"[eE][-+]?\d{4}")


def parse_fraction(value: Any) -> Fraction:
    """The exact value of a number or of a string such as "1/8"; a float counts as the decimal it prints as.

    Raises ValueError for anything else.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f'{value!r} is not a number: write 0.125 or "1/8"')
    text = str(value).strip()
    try:
        # Digits are counted first: "1e999999999" would fill the memory.
        if len(text) > MAX_CHARACTERS or _LONG_EXPONENT.search(text):
            raise ValueError
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f'{text[:MAX_CHARACTERS]!r} is not a number: write 0.125 or "1/8"') from None
    if abs(number) > MAX_MAGNITUDE:
        raise ValueError(f'{text!r} is too large: write a number such as 0.125 or "1/8"')
    return number


def format_fraction(value: Fraction) -> float | str:
    """The float that parses back to exactly this fraction, or else the string "p/q"."""
    number = float(value)
    return number if Fraction(str(number)) == value else f"{value.numerator}/{value.denominator}"


ExactFraction = Annotated[
    Fraction,
    BeforeValidator(parse_fraction),
    PlainSerializer(format_fraction, return_type=float | str),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*[-+]?[0-9./eE+-]+\s*$"}]}),
]
"""A threshold, compared exactly."""
