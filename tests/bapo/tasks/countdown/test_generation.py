"""The generator: solvable, distinct problems, and a partition of the multisets that never changes."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.config.errors import ConfigError
from bapo.tasks.countdown.expression import evaluate, is_solution
from bapo.tasks.countdown.generation import (
    Expression,
    ProblemRange,
    Split,
    distinct_problems,
    random_expression,
    random_problem,
    split_of,
)

DEMO = ProblemRange(min_number=1, max_number=12, max_target=40, num_operands=(3, 4))


def _number(value: int) -> Expression:
    return Expression(str(value), Fraction(value))


def test_parentheses_only_where_needed() -> None:
    a, b, c, d = (_number(n) for n in (9, 6, 3, 2))
    assert a.join("-", b).join("-", c).text == "9-6-3"
    assert a.join("-", b.join("-", c)).text == "9-(6-3)"
    assert a.join("+", b.join("-", c)).text == "9+6-3"
    assert a.join("-", b.join("*", c)).text == "9-6*3"
    assert a.join("+", b).join("*", c.join("-", d)).text == "(9+6)*(3-2)"
    assert a.join("*", b.join("/", c)).text == "9*6/3"
    assert a.join("/", b.join("/", c)).text == "9/(6/3)"
    assert a.join("/", b.join("*", c)).text == "9/(6*3)"
    assert a.join("*", b).join("/", c).text == "9*6/3"


@given(st.lists(st.integers(0, 99), min_size=1, max_size=6), st.integers())
def test_random_expressions_say_what_they_are_worth(nums: list[int], seed: int) -> None:
    expression = random_expression(nums, random.Random(seed))
    value, used = evaluate(expression.text)
    assert value == expression.value
    assert value.denominator == 1
    assert sorted(used) == sorted(nums)


def test_a_multiset_has_one_use_whatever_its_order() -> None:
    for nums in itertools.permutations([3, 7, 7, 12]):
        assert split_of(nums) is split_of([3, 7, 7, 12])


def test_the_partition_never_changes() -> None:
    # A change here would let the shipped model's warm start see the problems that it is tested on.
    pinned = {
        (1, 2, 3): Split.WARM_START,
        (4, 4, 9, 11): Split.WARM_START,
        (1, 1, 4): Split.TEST,
        (5, 5, 5): Split.TEST,
        (1, 2, 5): Split.TRAIN,
        (1, 1, 10): Split.VALIDATION,
    }
    assert {nums: split_of(nums) for nums in pinned} == pinned


def test_shares_of_the_demo_range() -> None:
    multisets = [nums for size in (3, 4) for nums in itertools.combinations_with_replacement(range(1, 13), size)]
    assert len(multisets) == 364 + 1365  # C(14, 3) + C(15, 4)
    counts = {split: sum(split_of(nums) is split for nums in multisets) for split in Split}
    for split, share in ((Split.TRAIN, 0.35), (Split.WARM_START, 0.40), (Split.TEST, 0.15), (Split.VALIDATION, 0.10)):
        # Four standard deviations of a binomial count.
        assert abs(counts[split] - 1729 * share) < 4 * (1729 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("split", list(Split))
def test_problems_are_distinct_solvable_and_of_their_split(split: Split) -> None:
    problems = distinct_problems(300, DEMO, split, random.Random(0), field="task.num_train")
    assert len({problem.content for problem in problems}) == 300
    for problem in problems:
        assert split_of(problem.nums) is split
        assert len(problem.nums) in (3, 4)
        assert all(1 <= number <= 12 for number in problem.nums)
        assert 1 <= problem.target <= 40


def test_the_expression_drawn_solves_the_problem() -> None:
    draw = random.Random(0)
    drawn = [result for _ in range(2000) if (result := random_problem(DEMO, Split.TRAIN, draw))]
    assert drawn
    for problem, expression in drawn:
        assert is_solution(expression.text, problem.nums, problem.target)


def test_equal_seeds_draw_equal_problems() -> None:
    first, second, other = (
        distinct_problems(50, DEMO, Split.TRAIN, random.Random(seed), field="f") for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_excluded_problems_and_multisets_are_not_drawn() -> None:
    tiny = ProblemRange(1, 6, 20, (3,))
    first = distinct_problems(10, tiny, Split.TRAIN, random.Random(0), field="f")
    second = distinct_problems(10, tiny, Split.TRAIN, random.Random(0), without=first, field="f")
    assert not {p.content for p in first} & {p.content for p in second}
    excluded = {p.multiset for p in first[:3]}
    third = distinct_problems(10, tiny, Split.TRAIN, random.Random(0), without_multisets=excluded, field="f")
    assert not excluded & {p.multiset for p in third}


def test_a_finite_set_that_is_too_small_ends_in_an_error() -> None:
    tiny = ProblemRange(1, 2, 5, (3,))
    with pytest.raises(ConfigError, match=r"task\.num_train = 500: numbers 1\.\.2 taken 3 at a time"):
        distinct_problems(500, tiny, Split.TRAIN, random.Random(0), field="task.num_train")


def test_divisions_are_exact_or_products() -> None:
    draw = random.Random(0)
    # 7/3 and 3/7 are not whole, 6/3 is.
    assert {random_expression([3, 7], draw).text for _ in range(300)} == {"3+7", "7+3", "3-7", "7-3", "3*7", "7*3"}
    assert "6/3" in {random_expression([3, 6], draw).text for _ in range(300)}
