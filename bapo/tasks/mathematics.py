"""Mathematical answers in \\boxed{…}: finds the one that counts and compares it with the correct one."""

from __future__ import annotations

import logging
import re
from functools import cache, lru_cache
from typing import Any

from bapo.answer_text import ANSWER_TEXT, last_boxed
from bapo.tasks.base import Problem
from bapo.tasks.bounded import BoundedFunction

LONGEST_ANSWER = 1_000
"""Most characters of a boxed answer; a longer one counts as wrong."""
_INTEGER = re.compile(r"[-+]?\d{1,300}")
_IGNORED = re.compile(r"\\[,;:! ]|\\left(?![a-z])|\\right(?![a-z])|\\displaystyle|[\s$~]")


def math_reward(problem: Problem, response_text: str) -> int:
    """1 if the last boxed answer equals the problem's, as math-verify compares them, else 0.

    Raises CallFailedError where the comparison takes too much time or memory.
    """
    answer = last_boxed(response_text)
    return int(answer is not None and equal_answers(str(problem.answer[ANSWER_TEXT]), answer))


def equal_answers(right: str, answer: str) -> bool:
    """Returns whether two LaTeX answers are equal. Raises CallFailedError if that takes too much time or memory."""
    if not answer or len(answer) > LONGEST_ANSWER:
        return False
    plain_right, plain_answer = _plain(right), _plain(answer)
    if plain_right == plain_answer:
        return bool(plain_answer)
    if _INTEGER.fullmatch(plain_right) and _INTEGER.fullmatch(plain_answer):
        return int(plain_right) == int(plain_answer)
    return bool(_judge()(right, answer))


def is_understood(right: str) -> bool:
    """Returns whether math-verify can parse a correct answer, so that it recognises other forms of it.

    Raises CallFailedError where that takes too much time or memory.
    """
    if not right.strip() or len(right) > LONGEST_ANSWER or last_boxed(rf"\boxed{{{right}}}") != right.strip():
        # An answer with unbalanced braces equals only itself.
        return False
    return bool(_INTEGER.fullmatch(_plain(right)) or _judge()(right, None))


def _plain(answer: str) -> str:
    """Removes formatting that does not change the meaning."""
    plain = _IGNORED.sub("", answer.replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac"))
    return plain.rstrip(".")


@cache
def _judge() -> BoundedFunction:
    return BoundedFunction("bapo.tasks.mathematics:judged")


# ---------------------------------------------------------------- in the judge's own process


def judged(right: str, answer: str | None) -> bool:
    """Returns math-verify's verdict; without an answer, whether it can parse the correct one. Has its own process."""
    from math_verify import verify  # noqa: PLC0415  (sympy takes a second to import)

    expected = _parsed(right)
    if answer is None:
        return bool(expected)
    return bool(expected) and bool(verify(list(expected), list(_parsed(answer)), timeout_seconds=None))


@lru_cache(maxsize=10_000)
def _parsed(answer: str) -> tuple[Any, ...]:
    # Not its parser of plain text, which ends in Python's `eval`.
    from math_verify import LatexExtractionConfig, parse  # noqa: PLC0415  (as above)

    # It warns that it has no timeout: its process has a limit of its own.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    config = LatexExtractionConfig(boxed_match_priority=0)
    return tuple(parse(f"\\boxed{{{answer.strip().strip('$')}}}", [config], parsing_timeout=None))
