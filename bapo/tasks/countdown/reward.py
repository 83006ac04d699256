"""Countdown's own verifier."""

from __future__ import annotations

from bapo.tasks.base import Problem
from bapo.tasks.countdown.expression import is_solution


def countdown_reward(problem: Problem, response_text: str) -> int:
    """1 if the response uses each given number exactly once and reaches the target, else 0."""
    nums, target = problem.answer["nums"], problem.answer["target"]
    assert isinstance(nums, list)
    assert isinstance(target, int)
    return int(is_solution(response_text, nums, target))
