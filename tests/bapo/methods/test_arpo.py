from __future__ import annotations

import math
from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.methods import build_method
from bapo.methods.arpo import Arpo
from bapo.rollout import BatchSource
from tests.bapo.methods.replaying import config, group, resumed, reused, take_step


def settings(**method: Any) -> RunConfig:
    return config({"type": "arpo", **method}, batch_size=3)


def whole_batches() -> Arpo:
    return Arpo(settings(replaces="batch"))


def test_a_batch_with_any_reward_is_plain_grpo() -> None:
    method = whole_batches()
    take_step(method, 1, [group("a", "0011", 1)])
    batch = take_step(method, 2, [group("b", "0000", 2), group("c", "0001", 2)])
    assert [(item.group.prompt_id, item.source) for item in batch.items] == [
        ("b", BatchSource.FRESH), ("c", BatchSource.FRESH),
    ]  # fmt: skip
    assert batch.counts.x3_candidates == 1


def test_a_batch_without_any_reward_gives_way_to_stored_groups_with_mixed_rewards() -> None:
    method = whole_batches()
    take_step(method, 1, [group("a", "0011", 1), group("b", "1111", 1), group("c", "0000", 1)])
    batch = take_step(method, 2, [group("a", "0000", 2), group("d", "0000", 2)])
    # b has no gradient, c has no reward. The fresh failure of a does not displace its stored success.
    assert reused(batch) == [("a", 1, None)]
    assert [(visit.prompt_id, visit.source, visit.reason) for visit in batch.visits] == [
        ("a", BatchSource.FRESH, "all_wrong"),
        ("d", BatchSource.FRESH, "all_wrong"),
        ("a", BatchSource.REUSED, None),
    ]
    assert (batch.counts.x1, batch.counts.x3, batch.counts.x3_candidates) == (0, 1, 1)


@pytest.mark.parametrize(("num_fresh", "num_reused"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_as_many_groups_come_back_as_failed_but_no_more_than_the_batch_holds(num_fresh: int, num_reused: int) -> None:
    method = whole_batches()
    take_step(method, 1, [group(name, "0011", 1) for name in "abcde"])
    assert take_step(method, 2, [group(f"x{i}", "0000", 2) for i in range(num_fresh)]).counts.x3 == num_reused


def test_without_anything_stored_a_failed_batch_is_trained_on() -> None:
    batch = take_step(whole_batches(), 1, [group("a", "0000", 1), group("b", "0000", 1)])
    assert (batch.counts.x1, batch.counts.x3) == (2, 0)


def test_one_failure_of_each_failed_group_gives_way_to_a_stored_success_of_its_prompt() -> None:
    method = Arpo(settings())
    take_step(method, 1, [group("a", "0010", 1), group("b", "1111", 1)])
    batch = take_step(method, 2, [group("a", "0000", 2), group("b", "0100", 2), group("c", "0000", 2)])
    partly, success, whole, hopeless = batch.items
    # 1 right of 4: μ = 1/4, var = 3/16.
    deviation = math.sqrt(3 / 16 + 1e-6)
    assert (partly.group.step, partly.responses) == (2, (1, 2, 3))
    assert partly.advantages == pytest.approx([-0.25 / deviation] * 3)
    assert (success.source, success.group.step, success.responses) == (BatchSource.REUSED, 1, (2,))
    assert success.advantages == pytest.approx([0.75 / deviation])
    # b has a reward of its own, c never had one.
    assert [(item.group.prompt_id, item.responses) for item in (whole, hopeless)] == [("b", None), ("c", None)]
    assert sum(item.num_responses for item in batch.items) == 12
    assert (batch.counts.x1, batch.counts.x3, batch.counts.x3_candidates) == (3, 1, 1)


def test_a_group_that_finds_no_room_has_nothing_replaced() -> None:
    method = Arpo(settings())
    take_step(method, 1, [group(name, "0010", 1) for name in "abcd"])
    batch = take_step(method, 2, [group(name, "0000", 2) for name in "abcd"])
    assert [name for name, *_ in reused(batch)] == ["a", "b", "c"]
    assert [visit.reason for visit in batch.visits if not visit.in_batch] == ["no_room"]


@pytest.mark.parametrize(("replaces", "capacity"), [("batch", 256), ("response", None)])
def test_the_capacity_suits_what_is_replaced(replaces: str, capacity: int | None) -> None:
    state = Arpo(settings(replaces=replaces)).buffers(1)[1]
    assert state is not None
    assert state.capacity == capacity


def test_groups_leave_by_capacity_and_by_age() -> None:
    method = Arpo(settings(capacity=2, max_age_steps=2))
    take_step(method, 1, [group(name, "0011", 1) for name in "abc"])
    assert [each.prompt_id for each in method.stored_groups()] == ["b", "c"]
    take_step(method, 2, [group("d", "0000", 2)])
    assert len(method.stored_groups()) == 2
    take_step(method, 3, [group("d", "0000", 3)])
    assert method.stored_groups() == []


@pytest.mark.parametrize("replaces", ["batch", "response"])
def test_a_resumed_method_goes_on_alike(replaces: str) -> None:
    chosen = settings(replaces=replaces)
    method = build_method(chosen)
    for step in (1, 2):
        take_step(method, step, [group("a", "0111", step), group(f"{step}", "0110", step)])
    copy = resumed(method, chosen)
    for step in (3, 4, 5):
        fresh = [group("a", "0000", step), group("1", "0000", step)]
        assert take_step(copy, step, fresh) == take_step(method, step, fresh)
        assert copy.buffers(step) == method.buffers(step)
