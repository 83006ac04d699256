from __future__ import annotations

import itertools
import random
import statistics

import pytest

from bapo.methods.retrieval import Strategy, retrieve
from tests.bapo.methods.replaying import group

PAST = [group("a", "1100", 1), group("a", "0010", 2), group("a", "0001", 3)]
"""4 of 12 right, the newest last."""


def places(strategy: Strategy, limit: int) -> list[tuple[int, tuple[int, ...]]]:
    return [(each.group.step, each.responses) for each in retrieve(strategy, PAST, limit)]


def test_full_takes_everything_whatever_the_limit() -> None:
    assert places("full", 1) == [(3, (0, 1, 2, 3)), (2, (0, 1, 2, 3)), (1, (0, 1, 2, 3))]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (3, [(3, (0, 1, 2))]),
        (4, [(3, (0, 1, 2, 3))]),
        (5, [(3, (0, 1, 2, 3)), (2, (0,))]),
        (99, [(3, (0, 1, 2, 3)), (2, (0, 1, 2, 3)), (1, (0, 1, 2, 3))]),
    ],
)
def test_recency_takes_the_newest_groups(limit: int, expected: list[tuple[int, tuple[int, ...]]]) -> None:
    assert places("recency", limit) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, [(3, (3,))]),
        (3, [(3, (3,)), (2, (2,)), (1, (0,))]),
        (4, [(3, (3,)), (2, (2,)), (1, (0, 1))]),
        # All four right ones, and the newest two wrong ones.
        (6, [(3, (0, 1, 3)), (2, (2,)), (1, (0, 1))]),
    ],
)
def test_reward_takes_right_responses_first_newest_first(
    limit: int, expected: list[tuple[int, tuple[int, ...]]]
) -> None:
    assert places("reward", limit) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        # Of an odd number the larger half is right: 1 of 1 and 2 of 3 vary as 0 of 1 and 1 of 3 do.
        (1, [(3, (3,))]),
        (2, [(3, (0, 3))]),
        (3, [(3, (0, 3)), (2, (2,))]),
        (4, [(3, (0, 1, 3)), (2, (2,))]),
        # Five of ten would vary most, but only four are right.
        (10, [(3, (0, 1, 2, 3)), (2, (0, 1, 2, 3)), (1, (0, 1))]),
    ],
)
def test_variance_takes_half_right_and_half_wrong(limit: int, expected: list[tuple[int, tuple[int, ...]]]) -> None:
    assert places("variance", limit) == expected


def test_no_choice_of_as_many_responses_varies_more() -> None:
    draw = random.Random(1)
    for _ in range(60):
        past = [group("a", "".join(draw.choices("01", k=3)), step) for step in range(1, draw.randint(2, 4))]
        rewards = [reward for each in past for reward in each.rewards]
        limit = draw.randint(1, 9)
        chosen = [each.group.rewards[place] for each in retrieve("variance", past, limit) for place in each.responses]
        assert len(chosen) == min(limit, len(rewards))
        best = max(
            (statistics.pvariance(subset), sum(subset)) for subset in itertools.combinations(rewards, len(chosen))
        )
        assert (statistics.pvariance(chosen), sum(chosen)) == best
