from __future__ import annotations

from bapo.buffers import PastGroups
from bapo.rollout import RolloutGroup


def group(prompt_id: str, step: int) -> RolloutGroup:
    return RolloutGroup(prompt_id, 4, 8, step - 1, step, payload=f"{prompt_id}{step}")


def filled(*places: tuple[str, int], groups_per_prompt: int = 2, max_age_steps: int | None = None) -> PastGroups:
    past = PastGroups(groups_per_prompt, max_age_steps)
    for prompt_id, step in places:
        past.put(group(prompt_id, step))
    return past


def test_each_prompt_keeps_its_newest_groups_oldest_first() -> None:
    past = filled(("a", 1), ("b", 1), ("a", 2), ("a", 4))
    assert [each.step for each in past.of("a")] == [2, 4]
    assert [each.step for each in past.of("b")] == [1]
    assert past.of("c") == []
    assert [(each.prompt_id, each.step) for each in past.groups()] == [("b", 1), ("a", 2), ("a", 4)]
    assert len(past) == 3


def test_a_group_leaves_once_it_is_older_than_the_limit() -> None:
    past = filled(("a", 1), ("b", 2), ("a", 3), max_age_steps=2)
    past.expire(next_step=3)
    assert len(past) == 3
    past.expire(next_step=4)
    assert [(each.prompt_id, each.step) for each in past.groups()] == [("b", 2), ("a", 3)]
    past.expire(next_step=99)
    assert (past.groups(), past.of("a")) == ([], [])


def test_without_a_limit_nothing_grows_too_old() -> None:
    past = filled(("a", 1))
    past.expire(next_step=10_000)
    assert len(past) == 1


def test_the_flow_of_a_step_and_the_ages_after_it() -> None:
    past = filled(("a", 1), ("b", 2), groups_per_prompt=1)
    past.begin_step()
    past.put(group("a", 3))
    state = past.state(3)
    assert (state.size, state.entered, state.refreshed, state.evicted, state.expired) == (2, 1, 0, 1, 0)
    assert (state.age_mean, state.age_max, state.capacity) == (0.5, 1, None)


def test_a_restored_buffer_holds_the_same_with_its_payloads() -> None:
    past = filled(("a", 1), ("b", 1), ("a", 2))
    restored = PastGroups(2, None)
    restored.load_state_dict(past.state_dict(), [each.payload for each in past.groups()])
    assert restored.groups() == past.groups()
    assert restored.state(3).entered == 0
    fewer = PastGroups(1, None)
    fewer.load_state_dict(past.state_dict(), [each.payload for each in past.groups()])
    assert [(each.prompt_id, each.step) for each in fewer.groups()] == [("b", 1), ("a", 2)]
