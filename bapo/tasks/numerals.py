"""Numbers as people, models and data sets write them, read exactly: `-3`, `1,234.5`, `4.5e33`, `3 \\times 10^{8}`,
`\\frac{1}{2}`, `1 1/2`, `0.1\\overline{6}`.

What is read is a value and how precisely it was written; no other notation is guessed at. LaTeX and Unicode forms are
made uniform by `bapo.tasks.answer_forms` before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

RELATIVE_TOLERANCE = Fraction(1, 10**9)
"""Two numbers that are not both integers are equal where they differ by at most this share of the larger one."""
ROUNDING_DIGITS = 6
"""A decimal with at least as many significant digits also equals a fraction or an expression that it rounds or cuts."""
LARGEST_EXPONENT = 5_000
"""A number beyond it is not read: its digits would fill the memory."""

_SIGN = r"(?P<sign>[-+]?)"
_GROUPED = r"\d{1,3}(?:(?:,|\{,\}|,\\!|\\,| )\d{3})+"
_DECIMAL = rf"(?:(?:{_GROUPED}|\d+)(?:\.\d*)?|\.\d+)"
_POWER = (
    r"(?:[eE](?P<e>[-+]?\d{1,9})|(?:\\times|\\cdot|\*|[xX])10\^(?:\{(?P<braced>[-+]?\d{1,9})\}|(?P<bare>[-+]?\d{1,9})))"
)
_PLAIN = re.compile(rf"{_SIGN}(?P<decimal>{_DECIMAL}){_POWER}?")
_POWER_OF_TEN = re.compile(rf"{_SIGN}10\^(?:\{{(?P<braced>[-+]?\d{{1,9}})\}}|(?P<bare>[-+]?\d{{1,9}}))")
_FRACTION = re.compile(
    rf"{_SIGN}(?:(?P<whole>\d+) (?=\d)|(?P<before>\d+) ?(?=\\frac))?"
    rf"(?:\\frac(?:\{{(?P<up>[-+]?{_DECIMAL})\}}\{{(?P<down>[-+]?{_DECIMAL})\}}|(?P<short>\d\d))"
    rf"|(?P<slash_up>[-+]?{_DECIMAL})/(?P<slash_down>[-+]?{_DECIMAL}))"
)
_REPEATING = re.compile(
    rf"{_SIGN}(?P<before>\d*\.\d*)\\(?:(?:overline|bar|dot)\{{(?P<digits>\d{{1,50}})\}}|(?:bar|dot) ?(?P<digit>\d))"
)
_SPACES_AROUND = re.compile(r" ?(\\times|\\cdot|[*^/{}]|[xX](?= ?10 ?\^)) ?")
_SEPARATORS = re.compile(r",\\!|\{,\}|\\,|[, ]")


@dataclass(frozen=True)
class Numeral:
    """A rational number, and how it was written."""

    value: Fraction
    significant_digits: int | None = None
    """Significant digits of a decimal; `None` for an integer, a fraction or a mixed number, which are exact."""
    last_place: int = 0
    """Power of ten of a decimal's last digit: -3 for 0.125."""


def read_numeral(text: str) -> Numeral | None:
    """Return the number that a text is from its first to its last character; None where it is no number."""
    text = _SPACES_AROUND.sub(r"\1", text.strip())
    text = re.sub(r"^([-+]) ", r"\1", text)
    if found := _POWER_OF_TEN.fullmatch(text):
        exponent = int(found["braced"] or found["bare"])
        return _scaled(_signed(found, Fraction(1)), exponent)
    if found := _PLAIN.fullmatch(text):
        return _plain(found)
    if found := _REPEATING.fullmatch(text):
        return _repeating(found)
    found = _FRACTION.fullmatch(text)
    return None if found is None else _fraction(found)


def _signed(found: re.Match[str], value: Fraction) -> Fraction:
    return -value if found["sign"] == "-" else value


def _digits(text: str) -> Fraction:
    return Fraction(_SEPARATORS.sub("", text).rstrip(".") or "0")


def _scaled(value: Fraction, exponent: int) -> Numeral | None:
    return None if abs(exponent) > LARGEST_EXPONENT else Numeral(value * Fraction(10) ** exponent)


def _plain(found: re.Match[str]) -> Numeral | None:
    written = _SEPARATORS.sub("", found["decimal"])
    exponent = int(found["e"] or found["braced"] or found["bare"] or 0)
    scaled = _scaled(_signed(found, _digits(written)), exponent)
    if scaled is None:
        return None
    _, point, decimals = written.partition(".")
    if not point and exponent >= 0:
        return scaled
    digits = written.replace(".", "").lstrip("0")
    return Numeral(scaled.value, len(digits), exponent - len(decimals))


def _repeating(found: re.Match[str]) -> Numeral:
    """Read 0.1\\overline{6} as 1/10 + 6/90."""
    digits = found["digits"] or found["digit"]
    _, _, decimals = found["before"].partition(".")
    repeated = Fraction(int(digits), (10 ** len(digits) - 1) * 10 ** len(decimals))
    return Numeral(_signed(found, _digits(found["before"].removesuffix(".") or "0") + repeated))


def _fraction(found: re.Match[str]) -> Numeral | None:
    short = found["short"]
    above = _digits(short[0] if short else found["up"] or found["slash_up"])
    below = _digits(short[1] if short else found["down"] or found["slash_down"])
    if below == 0:
        return None
    whole = found["whole"] or found["before"]
    if whole is None:
        return Numeral(_signed(found, above / below))
    # `1 1/2` and `1\frac{1}{2}` are mixed numbers; `3\frac{4}{3}` is a product.
    if not 0 <= above < below or above.denominator != 1 or below.denominator != 1:
        return None
    return Numeral(_signed(found, int(whole) + above / below))


def equal_numerals(first: Numeral, second: Numeral) -> bool:
    """Return whether two written numbers are equal.

    Integers are equal where they are the same. Any other two are equal within RELATIVE_TOLERANCE, or where one is a
    decimal of at least ROUNDING_DIGITS significant digits that rounds or cuts the other, which is no decimal: 0.333333
    equals 1/3, and 123456.7 does not equal 123456.8.
    """
    if first.value.denominator == second.value.denominator == 1:
        return first.value == second.value
    difference = abs(first.value - second.value)
    if difference <= RELATIVE_TOLERANCE * max(abs(first.value), abs(second.value)):
        return True
    decimals = [each for each in (first, second) if each.significant_digits is not None]
    if len(decimals) != 1:
        return False
    (decimal,) = decimals
    exact = second if decimal is first else first
    unit = Fraction(10) ** decimal.last_place
    is_cut = abs(exact.value) > abs(decimal.value) and difference < unit
    return (decimal.significant_digits or 0) >= ROUNDING_DIGITS and (is_cut or difference <= unit / 2)
