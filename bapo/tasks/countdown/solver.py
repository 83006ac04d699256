"""Solves a Countdown problem by trying all expressions: an answer to learn from, or the proof that there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from bapo.tasks.countdown.generation import Expression

MOST_SOLVED = 4
"""Numbers of a problem that is solved; each further one takes some thirty times as long."""


def solution(nums: Sequence[int], target: int) -> str | None:
    """Return an expression that uses each number once and has the value `target`; None where there is none."""
    return _search([Expression(str(number), Fraction(number)) for number in nums], target)


def countdown_solution(answer: Mapping[str, Any]) -> str | None:
    """Return the solution of a problem, from its answer; None where there is none, or its numbers are too many."""
    return solution(answer["nums"], answer["target"]) if len(answer["nums"]) <= MOST_SOLVED else None


def _search(terms: Sequence[Expression], target: int) -> str | None:
    if len(terms) == 1:
        return terms[0].text if terms[0].value == target else None
    for one in range(len(terms)):
        for other in range(one + 1, len(terms)):
            rest = [term for place, term in enumerate(terms) if place not in (one, other)]
            for joined in _joined(terms[one], terms[other]):
                found = _search([*rest, joined], target)
                if found is not None:
                    return found
    return None


def _joined(one: Expression, other: Expression) -> Iterator[Expression]:
    yield one.join("+", other)
    yield one.join("*", other)
    yield one.join("-", other)
    yield other.join("-", one)
    if other.value:
        yield one.join("/", other)
    if one.value:
        yield other.join("/", one)
