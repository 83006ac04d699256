from __future__ import annotations

import math
import random

import pytest

from bapo import filters
from bapo.draws import generator
from bapo.filters import FilterConfig
from bapo.rollout import RolloutGroup


def groups(*num_correct: int, group_size: int = 8) -> list[RolloutGroup]:
    return [RolloutGroup(f"p{i}", k, group_size, 0, 1) for i, k in enumerate(num_correct)]


def counts(kept: list[RolloutGroup]) -> list[int]:
    return [group.num_correct for group in kept]


def test_range_keeps_mixed_rewards_only() -> None:
    assert counts(filters.keep_range(groups(*range(9)))) == [1, 2, 3, 4, 5, 6, 7]


def test_range_with_two_responses_keeps_exactly_half() -> None:
    assert counts(filters.keep_range(groups(0, 1, 2, group_size=2))) == [1]


@pytest.mark.parametrize(
    ("num_fresh", "num_kept"),
    [
        (0, 0),
        (1, 1),  # 0.6
        (2, 1),  # 1.2
        (3, 2),  # 1.8
        (5, 3),  # 3.0
        (32, 19),  # 19.2
        (256, 154),  # 153.6
    ],
)
def test_uniform_keeps_exactly_sixty_percent_rounded(num_fresh: int, num_kept: int) -> None:
    fresh = groups(*[0] * num_fresh)
    assert len(filters.keep_uniform(fresh, share=0.6, draw=random.Random(0))) == num_kept


@pytest.mark.parametrize(("num_fresh", "num_kept"), [(1, 1), (3, 2), (5, 3), (7, 4)])
def test_uniform_rounds_half_up(num_fresh: int, num_kept: int) -> None:
    # 0.5·n = 0.5, 1.5, 2.5, 3.5; Python's own round would give 0, 2, 2, 4.
    fresh = groups(*[4] * num_fresh)
    assert len(filters.keep_uniform(fresh, share=0.5, draw=random.Random(0))) == num_kept


def test_uniform_reads_its_share_as_a_decimal() -> None:
    # 0.7·15 = 10.5 in decimals, 10.499999999999998 in floats.
    assert len(filters.keep_uniform(groups(*[4] * 15), share=0.7, draw=random.Random(0))) == 11


def test_uniform_looks_at_no_reward_and_keeps_the_order() -> None:
    fresh = groups(*[0, 8] * 50)
    kept = filters.keep_uniform(fresh, share=0.6, draw=random.Random(1))
    assert kept == [group for group in fresh if group in kept]
    assert {0, 8} == set(counts(kept))


def test_uniform_keeps_every_group_alike_often() -> None:
    fresh = groups(*range(5))
    kept = [0] * 5
    for step in range(2000):
        for group in filters.keep_uniform(fresh, share=0.6, draw=generator(0, step, "filter")):
            kept[group.num_correct] += 1
    # Mean 1200, standard deviation sqrt(2000·0.6·0.4) = 22; five of them either way.
    assert all(abs(each - 1200) < 110 for each in kept)


@pytest.mark.parametrize("num_correct", range(1, 8))
def test_gaussian_keeps_each_accuracy_with_its_probability(num_correct: int) -> None:
    # exp(-(k/8 - 0.5)² / (2·0.2²)): 1 at k = 4, exp(-0.0156/0.08) = 0.823 at k = 3 and 5, 0.458 at 2 and 6,
    # exp(-0.1406/0.08) = 0.172 at 1 and 7.
    expected = {4: 1.0, 3: 0.823, 5: 0.823, 2: 0.458, 6: 0.458, 1: 0.172, 7: 0.172}[num_correct]
    number = 4000
    kept = filters.keep_gaussian(groups(*[num_correct] * number), mean=0.5, std=0.2, draw=generator(3, 1, "filter"))
    deviation = math.sqrt(expected * (1 - expected) / number)
    assert abs(len(kept) / number - expected) <= 5 * deviation + 0.0005


def test_gaussian_never_keeps_equal_rewards() -> None:
    # Even where its peak lies on them.
    assert filters.keep_gaussian(groups(*[8] * 50), mean=1, std=10, draw=random.Random(0)) == []


def test_the_narrowest_gaussian_keeps_its_mean_alone() -> None:
    narrow = FilterConfig(type="gaussian", std=0.001)
    assert counts(filters.keep(narrow, groups(*range(9)), random.Random(0))) == [4]


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_draws_are_keyed_by_seed_and_step(kind: str) -> None:
    config = FilterConfig.model_validate({"type": kind})
    fresh = groups(*[2, 3, 5, 6] * 20)

    def kept(seed: int, step: int) -> list[str]:
        return [group.prompt_id for group in filters.keep(config, fresh, generator(seed, step, "filter"))]

    assert kept(1, 1) == kept(1, 1)
    assert kept(1, 1) != kept(1, 2)
    assert kept(1, 1) != kept(2, 1)


def test_the_config_names_the_filter() -> None:
    fresh = groups(0, 4, 8, 4, 4)
    assert counts(filters.keep(FilterConfig(), fresh, random.Random(0))) == [4, 4, 4]
    assert len(filters.keep(FilterConfig(type="uniform", share=1), fresh, random.Random(0))) == 5
