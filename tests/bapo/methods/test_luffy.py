"""LUFFY's batches by hand: G = 4, B = 3."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from bapo.methods.luffy import Luffy
from bapo.rollout import RolloutGroup
from tests.bapo.methods.replaying import config, group, take_step


def method(**own: Any) -> Luffy:
    return Luffy(config({"type": "luffy", **own}, batch_size=3))


def demonstrated(prompt_id: str, rewards: str) -> RolloutGroup:
    """A group of step 1 whose prompt has a demonstration."""
    return replace(group(prompt_id, rewards, 1), has_demonstration=True)


def test_advantages_are_relative_to_the_responses_and_the_demonstration_together() -> None:
    some, none, every = take_step(
        method(), 1, [demonstrated("a", "0100"), demonstrated("b", "0000"), demonstrated("c", "1111")]
    ).items
    # Rewards 0, 1, 0, 0 and the demonstration's 1: mean 2/5, variance 6/25.
    deviation = math.sqrt(0.24 + 1e-6)
    assert some.advantages == pytest.approx([-0.4 / deviation, 0.6 / deviation, -0.4 / deviation, -0.4 / deviation])
    assert some.demonstration == pytest.approx(0.6 / deviation)
    # All wrong but the demonstration: mean 1/5, deviation 2/5. GRPO has no gradient here.
    assert none.advantages == pytest.approx([-0.5] * 4, rel=1e-4)
    assert none.demonstration == pytest.approx(2.0, rel=1e-4)
    # Where everything is right, the demonstration teaches nothing either.
    assert (every.advantages, every.demonstration) == ((0.0,) * 4, 0.0)


def test_the_released_code_takes_the_mean_of_the_responses_alone_and_no_deviation() -> None:
    some, none, every = take_step(
        method(advantage="on_policy"),
        1,
        [demonstrated("a", "0100"), demonstrated("b", "0000"), demonstrated("c", "1111")],
    ).items
    assert (some.advantages, some.demonstration) == ((-0.25, 0.75, -0.25, -0.25), 0.75)
    # No response is pushed down; only the demonstration is pushed up.
    assert (none.advantages, none.demonstration) == ((0.0,) * 4, 1.0)
    assert (every.advantages, every.demonstration) == ((0.0,) * 4, 0.0)


def test_a_group_without_a_demonstration_is_trained_on_as_in_grpo() -> None:
    (item,) = take_step(method(), 1, [group("a", "0011", 1)]).items
    # Mean 1/2, variance 1/4.
    assert item.advantages == pytest.approx([-1.0, -1.0, 1.0, 1.0], rel=1e-4)
    assert item.demonstration is None


def test_demonstrations_take_no_room_in_the_batch() -> None:
    batch = take_step(method(), 1, [demonstrated(name, "0100") for name in "abcd"])
    assert [item.group.prompt_id for item in batch.items] == ["a", "b", "c"]
    assert [visit.reason for visit in batch.visits] == [None, None, None, "no_room"]
    assert (batch.counts.x1, batch.counts.batch, batch.counts.fill_rate) == (3, 3, 1.0)


def test_gamma_reaches_the_loss() -> None:
    assert config({"type": "luffy"}).objective.demonstration_shaping == 0.1
    assert config({"type": "luffy", "gamma": 0.5}).objective.demonstration_shaping == 0.5
    assert config({"type": "grpo"}).objective.demonstration_shaping is None
