"""Mathematical answers, usually in \\boxed{…}: finds the one that counts and compares it with the correct one.

Numbers are compared as numbers (`bapo.tasks.numerals`), everything else by math-verify in a process with limits.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from bapo.answer_text import ANSWER_TEXT, last_boxed
from bapo.isolation.function import IsolatedFunction
from bapo.tasks.answer_formats import Extract
from bapo.tasks.answer_forms import Answer, uniform, units_differ
from bapo.tasks.base import JUDGE_LIMITS, JUDGE_SECONDS, Problem
from bapo.tasks.numerals import Numeral, equal_numerals, read_numeral

LONGEST_ANSWER = 1_000
"""Most characters of a boxed answer; a longer one counts as wrong."""
_SPACES = re.compile(r"(?<!\d) +| +(?!\d)")
"""A space that separates no digits: it changes no value."""
_SEPARATED_DIGITS = re.compile(r"\d +\d")
_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mbox|operatorname)\s*\{([^{}]*)\}")
_CHOICE = re.compile(r"\(?([A-Za-z])\)")
_ZEROS = re.compile(r"(\.\d*?)0+(?=e|$)")
_WORD = re.compile(r"[A-Za-z]{3,}")


def math_reward(problem: Problem, response_text: str, extract: Extract = last_boxed) -> int:
    """Return 1 if the response's answer equals the problem's, else 0.

    Raises CallFailedError where the comparison takes too much time or memory.
    """
    answer = extract(response_text)
    return int(answer is not None and equal_answers(str(problem.answer[ANSWER_TEXT]), answer))


def equal_answers(right: str, answer: str) -> bool:
    """Return whether two answers are equal: the same text, the same number, or equal to math-verify.

    Markdown, Unicode and LaTeX spacing do not matter. A unit may be missing, and must be the same where both have one.
    Two integers are equal where they are the same; other numbers within a relative tolerance
    (`numerals.RELATIVE_TOLERANCE`). A ratio of two is its quotient, as math-verify reads it; one of three or more
    equals proportional ones. Raises CallFailedError if the comparison takes too much time or memory.
    """
    if not answer or len(answer) > LONGEST_ANSWER:
        return False
    expected, given = uniform(right), uniform(answer)
    if not given.value or units_differ(expected.unit, given.unit):
        return False
    first, second = read_numeral(expected.value), read_numeral(given.value)
    if first is not None and second is not None:
        return _equal_numbers(expected, given, first, second)
    if (first is None) == (second is None) and _plain(expected.value) == _plain(given.value):
        return True
    return _equal_expressions(expected, given)


def _equal_expressions(expected: Answer, given: Answer) -> bool:
    first, second = _terms(expected.value), _terms(given.value)
    if max(len(first), len(second)) > 2:
        return _are_proportional(first, second)
    if any(_SEPARATED_DIGITS.search(each.value) for each in (expected, given)):
        # `1 2 3` is no number, and math-verify would read 123.
        return False
    return _judge()(_with_percent(expected), _with_percent(given))


def is_understood(right: str) -> bool:
    """Return whether a correct answer can be parsed, so that other forms of it are recognised.

    Raises CallFailedError where that takes too much time or memory.
    """
    if not right.strip() or len(right) > LONGEST_ANSWER or last_boxed(rf"\boxed{{{right}}}") != right.strip():
        # An answer with unbalanced braces equals only itself.
        return False
    expected = uniform(right)
    if read_numeral(expected.value) is not None:
        return True
    return not _SEPARATED_DIGITS.search(expected.value) and _judge()(_with_percent(expected), None)


def _plain(value: str) -> str:
    """Return a value without what changes no meaning: spaces, the kind of letters, parentheses around a choice."""
    plain = _SPACES.sub("", _TEXT.sub(r"\1", value))
    if found := _CHOICE.fullmatch(plain):
        return found[1]
    return plain.casefold() if _WORD.fullmatch(plain) else plain


def _equal_numbers(expected: Answer, given: Answer, first: Numeral, second: Numeral) -> bool:
    """Compare two numbers of which one or both may be percentages: 50 % equals 0.5, and 50 where that may be meant."""
    if (expected.unit == "percent") == (given.unit == "percent"):
        return equal_numerals(first, second)
    percent, other = (first, second) if expected.unit == "percent" else (second, first)
    share = Numeral(percent.value / 100, percent.significant_digits, percent.last_place - 2)
    # The sign may be missing, as any unit may. A decimal with one added is another number.
    may_lack_the_sign = expected.unit == "percent" or percent.value.denominator == 1
    return equal_numerals(share, other) or (may_lack_the_sign and equal_numerals(percent, other))


def _terms(value: str) -> Sequence[Numeral]:
    """Return the terms of a ratio such as 1:2:3; a number is one term, and anything else has none."""
    terms = [read_numeral(part) for part in value.split(":")]
    return [] if None in terms else [term for term in terms if term is not None]


def _are_proportional(first: Sequence[Numeral], second: Sequence[Numeral]) -> bool:
    if len(first) != len(second):
        return False
    one, other = next(((a.value, b.value) for a, b in zip(first, second, strict=True) if a.value or b.value), (0, 0))
    return bool(one and other) and all(a.value * other == b.value * one for a, b in zip(first, second, strict=True))


def _with_percent(answer: Answer) -> str:
    return rf"{answer.value}\%" if answer.unit == "percent" else answer.value


@cache
def _judge() -> IsolatedFunction[[str, str | None], bool]:
    return IsolatedFunction(judged, JUDGE_LIMITS, seconds=JUDGE_SECONDS)


# ---------------------------------------------------------------- in the judge's own process


def judged(right: str, answer: str | None) -> bool:
    """Return whether two LaTeX answers are equal; without an answer, whether the correct one can be parsed.

    Runs in a process with limits.
    """
    from math_verify import verify  # noqa: PLC0415  (sympy takes a second to import)

    expected = _parsed(right)
    if answer is None:
        return bool(expected)
    given = _parsed(answer)
    if not expected or not given:
        return False
    verdict = _equal_values(_values(right, expected[0]), _values(answer, given[0]))
    # Of numbers our own tolerance decides, which is relative. math-verify decides whatever has letters in it.
    return bool(verify(list(expected), list(given), timeout_seconds=None)) if verdict is None else verdict


def _equal_values(right: Sequence[Numeral] | None, answer: Sequence[Numeral] | None) -> bool | None:
    """Return whether numbers are equal one by one; None where they do not decide."""
    if right is None or answer is None or len(right) != len(answer):
        return None
    if len(right) == 1:
        return equal_numerals(right[0], answer[0])
    pairs = zip(*(sorted(each, key=lambda number: number.value) for each in (right, answer)), strict=True)
    # Equal numbers may yet be in another order, or the ends of another interval.
    return None if all(equal_numerals(first, second) for first, second in pairs) else False


def _values(text: str, parsed: Any) -> Sequence[Numeral] | None:
    """Return the numbers of a number, tuple, set, interval or matrix; None where it has anything else in it."""
    numeral = read_numeral(text)
    if numeral is not None:
        return [numeral]
    values = list(_numbers(parsed))
    return None if not values or None in values else [value for value in values if value is not None]


def _numbers(parsed: Any) -> Iterator[Numeral | None]:
    from sympy import FiniteSet, Interval, MatrixBase, Tuple  # noqa: PLC0415  (as above)

    if isinstance(parsed, Interval):
        parts = [parsed.start, parsed.end]
    elif isinstance(parsed, FiniteSet | Tuple):
        parts = list(parsed.args)
    elif isinstance(parsed, MatrixBase):
        parts = list(parsed.flat())
    else:
        yield _number(parsed)
        return
    for part in parts:
        yield from _numbers(part)


def _number(parsed: Any) -> Numeral | None:
    """Return the value of a real number without letters, to 40 digits; None for anything else."""
    from sympy import Expr  # noqa: PLC0415  (as above)

    if not isinstance(parsed, Expr) or parsed.free_symbols or not parsed.is_number:
        return None
    value = parsed.doit()
    if value.is_Integer:
        return Numeral(Fraction(int(value)))
    if value.is_Float:
        # As it was written: sympy prints zeros up to its own precision.
        return read_numeral(_ZEROS.sub(r"\1", str(value)))
    digits = value.evalf(40)
    return Numeral(Fraction(str(digits))) if digits.is_Float and digits.is_finite else None


@lru_cache(maxsize=10_000)
def _parsed(answer: str) -> tuple[Any, ...]:
    # Not its parser of plain text, which ends in Python's `eval`.
    from latex2sympy2_extended import NormalizationConfig  # noqa: PLC0415  (as above)
    from math_verify import LatexExtractionConfig, parse  # noqa: PLC0415  (as above)

    # It warns that it has no timeout: its process is limited anyway.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    # Not its own units: it would also strip the variable of `5m`.
    normalization = NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="all", equations=False
    )
    config = LatexExtractionConfig(boxed_match_priority=0, normalization_config=normalization)
    return tuple(parse(f"\\boxed{{{answer}}}", [config], parsing_timeout=None))
