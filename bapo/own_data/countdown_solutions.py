"""Solves a Countdown problem by trying all expressions, to see that it can be solved at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

MOST_SOLVED = 4
"""Numbers of a problem that is solved; each further one takes some thirty times as long."""

Term = tuple[Fraction, str]
"""A value, and the expression that has it."""


def solution(nums: Sequence[int], target: int) -> str | None:
    """Return an expression that uses each number once and has the value `target`; None where there is none."""
    return _search([(Fraction(number), str(number)) for number in nums], target)


def _search(terms: Sequence[Term], target: int) -> str | None:
    if len(terms) == 1:
        return terms[0][1] if terms[0][0] == target else None
    for one in range(len(terms)):
        for other in range(one + 1, len(terms)):
            rest = [term for place, term in enumerate(terms) if place not in (one, other)]
            for joined in _joined(terms[one], terms[other]):
                found = _search([*rest, joined], target)
                if found is not None:
                    return found
    return None


def _joined(one: Term, other: Term) -> Iterator[Term]:
    (a, left), (b, right) = one, other
    yield a + b, f"({left} + {right})"
    yield a * b, f"({left} * {right})"
    yield a - b, f"({left} - {right})"
    yield b - a, f"({right} - {left})"
    if b:
        yield a / b, f"({left} / {right})"
    if a:
        yield b / a, f"({right} / {left})"
