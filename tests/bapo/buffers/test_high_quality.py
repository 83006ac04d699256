from __future__ import annotations

import json

import pytest

from bapo.buffers import HighQualityBuffer
from bapo.rollout import RolloutGroup


def group(prompt_id: str, step: int, num_correct: int = 4) -> RolloutGroup:
    return RolloutGroup(prompt_id, num_correct, 8, step - 1, step, payload=f"{prompt_id}@{step}")


def buffer(*groups: RolloutGroup, capacity: int | None = None, max_age_steps: int = 3) -> HighQualityBuffer:
    held = HighQualityBuffer(capacity, max_age_steps)
    for each in groups:
        held.put(each)
    return held


def names(held: HighQualityBuffer) -> list[str]:
    return [f"{each.prompt_id}@{each.step}" for each in held.groups()]


def test_the_newest_group_of_a_prompt_wins() -> None:
    held = buffer(group("a", 1), group("b", 1), group("a", 2))
    assert names(held) == ["b@1", "a@2"]
    state = held.state(2)
    assert (state.size, state.entered, state.refreshed) == (2, 2, 1)


def test_capacity_lets_the_oldest_go() -> None:
    held = buffer(group("a", 1), group("b", 1), group("c", 2), capacity=2)
    assert names(held) == ["b@1", "c@2"]
    assert held.state(2).evicted == 1


def test_without_a_capacity_nothing_is_evicted() -> None:
    held = buffer(*(group(f"p{i}", 1) for i in range(1000)))
    assert len(held) == 1000
    assert held.state(1).capacity is None


@pytest.mark.parametrize(("next_step", "left"), [(4, ["a@1", "b@2"]), (5, ["b@2"]), (6, [])])
def test_a_group_of_step_1_is_held_up_to_step_4(next_step: int, left: list[str]) -> None:
    # At most 3 steps old: step 4 may still use what step 1 generated, step 5 may not.
    held = buffer(group("a", 1), group("b", 2))
    held.begin_step()
    held.expire(next_step)
    assert names(held) == left
    assert held.state(next_step).expired == 2 - len(left)


def test_ages_are_steps_since_generation() -> None:
    state = buffer(group("a", 1), group("b", 3), group("c", 3)).state(3)
    # Ages 2, 0 and 0.
    assert (state.age_max, state.age_mean) == (2, 2 / 3)


def test_an_empty_buffer_has_no_ages() -> None:
    state = buffer().state(1)
    assert (state.size, state.age_mean, state.age_max) == (0, None, None)


def test_a_restored_buffer_has_its_groups_with_their_payloads() -> None:
    held = buffer(group("b", 1), group("a", 2, num_correct=3))
    restored = HighQualityBuffer(None, 3)
    payloads = [each.payload for each in held.groups()]
    restored.load_state_dict(json.loads(json.dumps(held.state_dict())), payloads)
    assert restored.groups() == held.groups()
    assert [each.payload for each in restored.groups()] == ["b@1", "a@2"]


def test_a_checkpoint_with_too_few_payloads_is_our_bug() -> None:
    held = buffer(group("a", 1), group("b", 1))
    with pytest.raises(ValueError, match="shorter"):
        HighQualityBuffer(None, 3).load_state_dict(held.state_dict(), ["a@1"])


def test_a_fork_with_less_room_restores_the_newest_groups() -> None:
    held = buffer(group("a", 1), group("b", 2), group("c", 2), group("d", 3))
    smaller = HighQualityBuffer(2, 3)
    smaller.load_state_dict(held.state_dict(), [each.payload for each in held.groups()])
    assert names(smaller) == ["c@2", "d@3"]
