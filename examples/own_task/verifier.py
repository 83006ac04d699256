"""A verifier of one's own: 1 for a right response, 0 for any other."""

from __future__ import annotations

from bapo.tasks import Problem
from bapo.tasks.countdown.expression import ExpressionError, evaluate


def reward(problem: Problem, response: str) -> int:
    """Return 1 if the response reaches the target with all the numbers, by addition and subtraction alone, else 0.

    `problem.answer` is the row's answer as it stands in the file. What this function raises counts as a wrong response.
    """
    if "*" in response or "/" in response:
        return 0
    try:
        value, used = evaluate(response)
    except ExpressionError:
        return 0
    return int(value == problem.answer["target"] and sorted(used) == sorted(problem.answer["numbers"]))
