"""Countdown problems: how they are written as prompts, random ones, and the fixed partition of number multisets."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.rollout import prompt_identity
from bapo.tasks.base import Problem

COMPACT_TEMPLATE = "{nums}={target}"
"""Short prompts for the shipped model: `3 7 12=26`."""


@dataclass(frozen=True, slots=True)
class CountdownProblem:
    """A row of Countdown-Tasks-3to4."""

    nums: tuple[int, ...]
    target: int

    @property
    def multiset(self) -> tuple[int, ...]:
        """The numbers in ascending order, which held-out and training problems never share."""
        return tuple(sorted(self.nums))

    @property
    def content(self) -> tuple[tuple[int, ...], int]:
        """The problem regardless of the order of its numbers."""
        return self.multiset, self.target

    def as_problem(self, data_source: str, prompt_template: str) -> Problem:
        """Return the problem with its prompt, made of a template with `{nums}` (space separated) and `{target}`."""
        nums = " ".join(map(str, self.nums))
        prompt = prompt_template.replace("{nums}", nums).replace("{target}", str(self.target))
        answer = {"nums": list(self.nums), "target": self.target}
        return Problem(prompt_identity(data_source, prompt), data_source, prompt, answer)


def as_problems(problems: Iterable[CountdownProblem], data_source: str, prompt_template: str) -> tuple[Problem, ...]:
    """Return all the problems with their prompts, in order."""
    return tuple(problem.as_problem(data_source, prompt_template) for problem in problems)


MAX_DRAWS_PER_PROBLEM = 100
SPARE_DRAWS = 20_000
"""A generator of `count` distinct problems from a finite set gives up after 100 · count + 20,000 draws."""

OPERATORS: Mapping[str, float] = {"+": 0.45, "-": 0.25, "*": 0.25, "/": 0.05}
"""Frequency of each operator in random expressions; sums make the easy problems."""

_SUM, _PRODUCT, _ATOM = 1, 2, 3


class Split(StrEnum):
    """Use of a number multiset; a multiset has exactly one use, the same for every seed and range."""

    TRAIN = "train"
    TEST = "test"
    WARM_START = "warm_start"
    VALIDATION = "validation"


_SHARES_PERCENT = {Split.TRAIN: 35, Split.WARM_START: 40, Split.TEST: 15, Split.VALIDATION: 10}


def split_of(nums: Sequence[int]) -> Split:
    """Return the use of a number multiset: decided by the hash of the sorted numbers, so it never changes."""
    content = ",".join(map(str, sorted(nums)))
    bucket = int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big") % 100
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
        """Return the expression `self operator right`."""
        precedence = _SUM if operator in "+-" else _PRODUCT
        left_text = self._within_parentheses(self.precedence < precedence)
        right_text = right._within_parentheses(
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

    def _within_parentheses(self, needed: bool) -> str:
        return f"({self.text})" if needed else self.text


def random_expression(nums: Sequence[int], draw: random.Random) -> Expression:
    """Return a random expression that uses each number once: two random parts are joined until one is left.

    A division that would not be exact becomes a product, so every intermediate value is a whole number.
    """
    parts = [Expression(str(number), Fraction(number)) for number in nums]
    operators, weights = list(OPERATORS), list(OPERATORS.values())
    while len(parts) > 1:
        left = parts.pop(draw.randrange(len(parts)))
        right = parts.pop(draw.randrange(len(parts)))
        operator = draw.choices(operators, weights)[0]
        if operator == "/" and (right.value == 0 or (left.value / right.value).denominator != 1):
            operator = "*"
        parts.append(left.join(operator, right))
    return parts[0]


@dataclass(frozen=True, slots=True)
class ProblemRange:
    """Range of the problems to draw."""

    min_number: int
    max_number: int
    max_target: int
    num_operands: tuple[int, ...]
    """Possible counts of numbers per problem, equally likely."""


def random_problem(
    limits: ProblemRange,
    split: Split,
    draw: random.Random,
) -> tuple[CountdownProblem, Expression] | None:
    """Return one draw: numbers, and the value of a random expression of them as the target.

    Returns None where the numbers belong to another split, or the value is no target within 1..max_target.
    """
    size = draw.choice(limits.num_operands)
    nums = tuple(draw.randint(limits.min_number, limits.max_number) for _ in range(size))
    if split_of(nums) is not split:
        return None
    expression = random_expression(nums, draw)
    if not 1 <= expression.value <= limits.max_target:
        return None
    return CountdownProblem(nums, int(expression.value)), expression


def distinct_problems(
    count: int,
    limits: ProblemRange,
    split: Split,
    draw: random.Random,
    *,
    without: Collection[CountdownProblem] = (),
    without_multisets: Collection[tuple[int, ...]] = (),
    field: str,
) -> list[CountdownProblem]:
    """Return `count` solvable problems of a split that differ in numbers or target.

    None of them is among `without`, none has the numbers of `without_multisets`.

    Raises:
        ConfigError: there are not that many; `field` is the config field that asked for them.
    """
    seen = {problem.content for problem in without}
    problems: list[CountdownProblem] = []
    for _ in range(MAX_DRAWS_PER_PROBLEM * count + SPARE_DRAWS):
        drawn = random_problem(limits, split, draw)
        if drawn is None:
            continue
        problem, _ = drawn
        if problem.content in seen or problem.multiset in without_multisets:
            continue
        seen.add(problem.content)
        problems.append(problem)
        if len(problems) == count:
            return problems
    operands = " or ".join(map(str, limits.num_operands))
    remedy = (
        f"numbers {limits.min_number}..{limits.max_number} taken {operands} at a time and targets up to "
        f"{limits.max_target} gave only {len(problems)} distinct problems that are set apart for this use ({split}); "
        "ask for fewer, raise task.max_number or task.max_target, or name a data file"
    )
    raise ConfigError([ConfigProblem(field, count, remedy)])
