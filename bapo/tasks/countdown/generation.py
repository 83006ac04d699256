"""Random Countdown problems, and the fixed partition of number multisets that keeps their uses apart."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

MAX_DRAWS_WITHOUT_PROGRESS = 20_000
"""A generator of distinct problems from a finite set gives up after this many draws without a new one."""

_OPERATOR_WEIGHTS = {"+": 0.35, "-": 0.3, "*": 0.25, "/": 0.1}
_SUM, _PRODUCT, _ATOM = 1, 2, 3


class Split(StrEnum):
    """Use of a number multiset; a multiset has exactly one use, the same for every seed and range."""

    TRAIN = "train"
    TEST = "test"
    WARM_START = "warm_start"
    VALIDATION = "validation"


_SHARES_PERCENT = {Split.TRAIN: 35, Split.WARM_START: 40, Split.TEST: 20, Split.VALIDATION: 5}


def split_of(nums: Sequence[int]) -> Split:
    """The use of a number multiset: decided by the hash of the sorted numbers, so it never changes."""
    content = ",".join(map(str, sorted(nums)))
    bucket = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8]) % 100
    for split, share in _SHARES_PERCENT.items():
        if bucket < share:
            return split
        bucket -= share
    raise AssertionError("the shares add up to 100 %")


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with its exact value, written with no parentheses beyond the necessary ones."""

    text: str
    value: Fraction
    precedence: int = _ATOM

    def join(self, operator: str, right: Expression) -> Expression:
        """The expression `self operator right`."""
        precedence = _SUM if operator in "+-" else _PRODUCT
        left_text = self._within(self.precedence < precedence)
        right_text = right._within(
            right.precedence < precedence or (operator in "-/" and right.precedence == precedence)
        )
        match operator:
            case "+":
                value = self.value + right.value
            case "-":
                value = self.value - right.value
            case "*":
                value = self.value * right.value
            case _:
                value = self.value / right.value
        return Expression(left_text + operator + right_text, value, precedence)

    def _within(self, in_parentheses: bool) -> str:
        return f"({self.text})" if in_parentheses else self.text


def random_expression(nums: Sequence[int], draw: random.Random) -> Expression:
    """A random expression that uses each number once: two random parts are joined until one is left.

    Divisions occur only where they are exact, so every intermediate value is a whole number.
    """
    parts = [Expression(str(number), Fraction(number)) for number in nums]
    operators, weights = list(_OPERATOR_WEIGHTS), list(_OPERATOR_WEIGHTS.values())
    while len(parts) > 1:
        left = parts.pop(draw.randrange(len(parts)))
        right = parts.pop(draw.randrange(len(parts)))
        operator = draw.choices(operators, weights)[0]
        if operator == "/" and (right.value == 0 or (left.value / right.value).denominator != 1):
            operator = "*"
        parts.append(left.join(operator, right))
    return parts[0]
