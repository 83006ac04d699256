from __future__ import annotations

import pytest

from bapo.config.task import CountdownTaskConfig
from bapo.tasks import build_task, solution_of
from bapo.tasks.base import Problem
from bapo.tasks.countdown.expression import is_solution
from bapo.tasks.countdown.solver import countdown_solution, solution


@pytest.mark.parametrize(
    ("nums", "target"),
    # The third needs a fraction on its way: 6/(1-3/4) = 24.
    [([5, 3, 2, 8], 24), ([7, 12, 3], 22), ([1, 3, 4, 6], 24), ([9], 9)],
)
def test_a_problem_is_solved(nums: list[int], target: int) -> None:
    assert is_solution(str(solution(nums, target)), nums, target)


def test_a_problem_that_cannot_be_solved_has_no_solution() -> None:
    assert solution([2, 2], 9) is None


def test_a_solution_has_no_parentheses_beyond_the_necessary_ones() -> None:
    # As the shipped model writes.
    assert solution([2, 3, 4], 20) == "4*(2+3)"
    assert solution([2, 3, 4], 9) == "4+2+3"


def test_problems_of_many_numbers_are_not_searched() -> None:
    assert countdown_solution({"nums": [1, 2, 3, 4, 5], "target": 15}) is None


def test_the_verifier_accepts_the_solution_of_every_generated_problem() -> None:
    task = build_task(CountdownTaskConfig(num_train=64))
    for problem in task.train:
        assert task.reward(problem, str(solution_of(problem, "countdown"))) == 1


def test_a_solution_of_the_data_comes_before_the_solvers() -> None:
    problem = Problem("a", "own", "2 3=5", {"nums": [2, 3], "target": 5}, solution="3+2")
    assert solution_of(problem, "countdown") == "3+2"
    assert solution_of(Problem("a", "own", "2+2", {"text": "4"}), "exact") is None
