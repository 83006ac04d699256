"""Arithmetic expressions of Countdown: exact evaluation by recursive descent, and the verifier built on it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

from bapo.tasks.base import Problem

MAX_EXPRESSION_CHARACTERS = 500
MAX_NESTING = 50

_LEXEME = re.compile(r"\s*(?:(?P<number>0|[1-9][0-9]*)(?![0-9])|(?P<symbol>[-+*/()]))", re.ASCII)
_TYPOGRAPHIC = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-"})
_ANSWER_OPEN = "<answer>"
_ANSWER_CLOSE = "</answer>"


class ExpressionError(ValueError):
    """The text is not an expression of whole numbers, + - * / and parentheses, or it has no value."""


def evaluate(text: str) -> tuple[Fraction, list[int]]:
    """Return the value of an arithmetic expression and the numbers in it, from left to right.

    The grammar is `sum = product {(+|-) product}`, `product = atom {(*|/) atom}`, `atom = number | ( sum )`:
    no signs, no decimals, no implicit multiplication. Arithmetic is exact.

    Raises:
        ExpressionError: not of that grammar, divided by zero, longer than `MAX_EXPRESSION_CHARACTERS` or nested
            deeper than `MAX_NESTING`.
    """
    parser = _Parser(_lexemes(text))
    value = parser.sum(depth=0)
    parser.expect_end()
    return value, parser.numbers


def extract_answer(response: str) -> str:
    """Return the part of a response that is meant as the answer.

    The content of the last complete `<answer>…</answer>`; without one, the last line that is not blank.
    """
    end = response.rfind(_ANSWER_CLOSE)
    start = response.rfind(_ANSWER_OPEN, 0, end) if end >= 0 else -1
    if start >= 0:
        return response[start + len(_ANSWER_OPEN) : end].strip()
    return response.strip().rpartition("\n")[2].strip()


def is_solution(response: str, nums: Sequence[int], target: int) -> bool:
    """Return whether a response uses each given number exactly once and reaches the target exactly.

    The answer may be written `expression` or `expression = target`; any other right-hand side is wrong.
    """
    expression, equals, right_side = extract_answer(response).partition("=")
    if equals and right_side.strip() != str(target):
        return False
    try:
        value, used = evaluate(expression)
    except ExpressionError:
        return False
    return value == target and sorted(used) == sorted(nums)


def _lexemes(text: str) -> list[str]:
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise ExpressionError(f"longer than {MAX_EXPRESSION_CHARACTERS} characters")
    text = text.translate(_TYPOGRAPHIC).rstrip()
    lexemes: list[str] = []
    position = 0
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None:
            raise ExpressionError(f"unexpected text at character {position + 1}")
        lexemes.append(match["number"] or match["symbol"])
        position = match.end()
    return lexemes


class _Parser:
    """Recursive descent over lexemes; `numbers` collects the operands read so far."""

    def __init__(self, lexemes: list[str]) -> None:
        self.numbers: list[int] = []
        self._lexemes = lexemes
        self._position = 0

    def sum(self, depth: int) -> Fraction:
        value = self._product(depth)
        while (operator := self._peek()) in ("+", "-"):
            self._position += 1
            right = self._product(depth)
            value = value + right if operator == "+" else value - right
        return value

    def expect_end(self) -> None:
        if self._position < len(self._lexemes):
            raise ExpressionError(f"unexpected {self._lexemes[self._position]!r} after a complete expression")

    def _product(self, depth: int) -> Fraction:
        value = self._atom(depth)
        while (operator := self._peek()) in ("*", "/"):
            self._position += 1
            right = self._atom(depth)
            if operator == "/" and right == 0:
                raise ExpressionError("division by zero")
            value = value * right if operator == "*" else value / right
        return value

    def _atom(self, depth: int) -> Fraction:
        lexeme = self._peek()
        if lexeme is None:
            raise ExpressionError("a number or '(' is missing at the end")
        self._position += 1
        if lexeme.isdigit():
            self.numbers.append(int(lexeme))
            return Fraction(int(lexeme))
        if lexeme != "(":
            raise ExpressionError(f"a number or '(' was expected, not {lexeme!r}")
        if depth >= MAX_NESTING:
            raise ExpressionError(f"nested deeper than {MAX_NESTING} parentheses")
        value = self.sum(depth + 1)
        if self._peek() != ")":
            raise ExpressionError("a closing parenthesis is missing")
        self._position += 1
        return value

    def _peek(self) -> str | None:
        return self._lexemes[self._position] if self._position < len(self._lexemes) else None


def countdown_reward(problem: Problem, response_text: str) -> int:
    """Return 1 if the response uses each given number exactly once and reaches the target, else 0."""
    nums, target = problem.answer["nums"], problem.answer["target"]
    assert isinstance(nums, list)
    assert isinstance(target, int)
    return int(is_solution(response_text, nums, target))


def countdown_answer_problem(answer: Mapping[str, object]) -> str | None:
    """Return why an answer is none of Countdown's; None where it is one."""
    nums, target = answer.get("nums"), answer.get("target")
    if isinstance(nums, list) and all(type(number) is int for number in nums) and type(target) is int:
        return None
    return "the answer lacks nums (list of whole numbers) or target (whole number), which Countdown's verifier needs"
