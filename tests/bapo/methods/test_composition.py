from __future__ import annotations

import pytest

from bapo.methods.composition import Composition, reason_left_out
from bapo.rollout import BatchSource, RolloutGroup


def group(prompt_id: str, num_correct: int = 4) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 8, policy_version=5, step=6)


def test_counts_follow_from_what_was_trained_on() -> None:
    composition = Composition(4)
    fresh = [group("a"), group("b", 0)]
    composition.train_on(fresh[0], BatchSource.FRESH)
    composition.leave_out(fresh[1], BatchSource.FRESH, "all_wrong")
    composition.train_on(group("c"), BatchSource.REEVALUATED)
    composition.train_on(group("d"), BatchSource.REUSED)
    composition.count(improved=1, x3_candidates=7)
    result = composition.result(fresh, [group("c")])
    counts = result.counts.model_dump()
    expected = {"fresh": 2, "x1": 1, "reevaluated": 1, "improved": 1, "x2": 1, "x3_candidates": 7, "x3": 1, "batch": 3}
    assert {name: value for name, value in counts.items() if value} == expected | {"batch_size": 4, "fill_rate": 0.75}
    assert [(visit.prompt_id, visit.in_batch, visit.reason) for visit in result.visits] == [
        ("a", True, None), ("b", False, "all_wrong"), ("c", True, None), ("d", True, None),
    ]  # fmt: skip
    assert {visit.policy_version for visit in result.visits} == {5}


def test_an_empty_batch_has_a_fill_rate_of_zero() -> None:
    result = Composition(4).result([], [])
    assert (result.items, result.counts.batch, result.counts.fill_rate) == ([], 0, 0)


def test_a_full_batch_takes_no_more() -> None:
    composition = Composition(1)
    assert composition.room == 1
    composition.train_on(group("a"), BatchSource.FRESH)
    assert composition.room == 0
    with pytest.raises(AssertionError, match="full"):
        composition.train_on(group("b"), BatchSource.FRESH)


def test_a_prompt_twice_in_a_batch_is_our_bug() -> None:
    composition = Composition(3)
    composition.train_on(group("a"), BatchSource.FRESH)
    composition.train_on(group("a"), BatchSource.REUSED)
    with pytest.raises(AssertionError):
        composition.result([], [])


def test_responses_that_join_a_prompt_take_no_room_and_are_told_apart_by_their_step() -> None:
    composition = Composition(2, repeats_prompts=True)
    older = RolloutGroup("a", 4, 8, policy_version=1, step=2)
    composition.train_on(group("a"), BatchSource.FRESH)
    composition.join(older, BatchSource.REUSED, responses=(1, 5), advantages=(0.5, -0.5))
    assert composition.room == 1
    composition.train_on(group("b"), BatchSource.FRESH)
    assert composition.room == 0
    result = composition.result([group("a"), group("b")], [])
    assert [item.num_responses for item in result.items] == [8, 2, 8]
    assert (result.counts.x1, result.counts.x3, result.counts.fill_rate) == (2, 1, 1.5)
    composition.join(older, BatchSource.REUSED, responses=(2,), advantages=(1.0,))
    with pytest.raises(AssertionError):
        composition.result([], [])


@pytest.mark.parametrize(
    ("num_correct", "reason"), [(0, "all_wrong"), (1, "filtered"), (7, "filtered"), (8, "all_correct")]
)
def test_the_reason_for_leaving_a_group_out(num_correct: int, reason: str) -> None:
    assert reason_left_out(group("a", num_correct)) == reason
