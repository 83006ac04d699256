"""Countdown's own verifier."""

from __future__ import annotations

from collections.abc import Mapping

from bapo.tasks.base import Problem
from bapo.tasks.countdown.expression import is_solution


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
