from __future__ import annotations

import json
from typing import Any

from bapo.buffers import DifficultBuffer


def buffer(*entries: tuple[str, int, int], capacity: int = 100) -> DifficultBuffer:
    made = DifficultBuffer(capacity)
    for prompt_id, num_correct, step in entries:
        made.put(prompt_id, num_correct, step)
    return made


def prompts(held: DifficultBuffer) -> list[str]:
    return [entry[0] for entry in held.state_dict()["prompts"]]


def flow(held: DifficultBuffer) -> dict[str, Any]:
    names = ("entered", "refreshed", "left_improved", "evicted", "expired")
    state = held.state(1).model_dump()
    return {name: state[name] for name in names if state[name]}


def test_a_prompt_is_held_once_with_its_latest_accuracy() -> None:
    held = buffer(("a", 0, 1), ("b", 1, 1), ("a", 1, 3))
    assert len(held) == 2
    assert "a" in held
    assert "c" not in held
    assert (held["a"].num_correct, held["a"].evaluated_step) == (1, 3)
    assert prompts(held) == ["b", "a"]


def test_capacity_evicts_the_least_recently_seen() -> None:
    held = buffer(("a", 0, 1), ("b", 0, 1), ("a", 0, 2), capacity=2)
    assert prompts(held) == ["b", "a"]
    held.put("c", 0, 3)
    assert prompts(held) == ["a", "c"]
    assert flow(held) == {"entered": 3, "refreshed": 1, "evicted": 1}


def test_refreshing_in_a_full_buffer_evicts_nothing() -> None:
    held = buffer(("a", 0, 1), ("b", 0, 1), ("a", 0, 2), capacity=2)
    assert len(held) == 2
    assert "evicted" not in flow(held)


def test_only_a_prompt_that_was_there_counts_as_improved() -> None:
    held = buffer(("a", 0, 1))
    held.remove_improved("a")
    held.remove_improved("z")
    assert len(held) == 0
    assert flow(held) == {"entered": 1, "left_improved": 1}


def test_flow_starts_anew_with_each_step() -> None:
    held = buffer(("a", 0, 1))
    held.begin_step()
    assert flow(held) == {}
    held.put("a", 0, 2)
    assert flow(held) == {"refreshed": 1}


def test_a_changed_c1_keeps_what_is_still_difficult() -> None:
    held = buffer(("a", 0, 1), ("b", 2, 1), ("c", 1, 1))
    held.keep_where(lambda num_correct: num_correct <= 1)
    assert prompts(held) == ["a", "c"]


def test_the_oldest_evaluation_is_repeated_first_and_ties_by_prompt_id() -> None:
    held = buffer(("z", 0, 1), ("y", 0, 1), ("b", 0, 2), ("a", 0, 2), ("c", 0, 3))
    ask = held.least_recently_evaluated
    assert ask(99, leave_out=()) == ["y", "z", "a", "b", "c"]
    assert ask(3, leave_out=()) == ["y", "z", "a"]
    assert ask(2, leave_out=()) == ["y", "z"]
    assert ask(1, leave_out=()) == ["y"]
    assert ask(0, leave_out=()) == []


def test_prompts_left_out_do_not_use_up_the_limit() -> None:
    held = buffer(("a", 0, 1), ("b", 0, 1), ("c", 0, 2))
    assert held.least_recently_evaluated(2, leave_out={"a"}) == ["b", "c"]
    assert held.least_recently_evaluated(2, leave_out={"a", "b", "c"}) == []


def test_ages_are_steps_since_the_evaluation() -> None:
    held = buffer(("a", 0, 1), ("b", 0, 3), ("c", 0, 4), capacity=9)
    state = held.state(5)
    # Ages 4, 2 and 1.
    assert (state.size, state.capacity, state.age_max) == (3, 9, 4)
    assert state.age_mean == 7 / 3


def test_an_empty_buffer_has_no_ages() -> None:
    state = DifficultBuffer(3).state(1)
    assert (state.size, state.age_mean, state.age_max) == (0, None, None)


def test_a_restored_buffer_keeps_entries_and_order() -> None:
    held = buffer(("b", 1, 1), ("a", 0, 1), ("b", 0, 2), capacity=2)
    restored = DifficultBuffer(2)
    restored.load_state_dict(json.loads(json.dumps(held.state_dict())))
    for each in (held, restored):
        each.put("c", 0, 3)
    assert restored.state_dict() == held.state_dict()
    assert prompts(restored) == ["b", "c"]


def test_a_fork_with_less_room_restores_what_was_evaluated_last() -> None:
    held = buffer(("a", 0, 1), ("b", 1, 2), ("c", 0, 3))
    smaller = DifficultBuffer(2)
    smaller.load_state_dict(held.state_dict())
    assert prompts(smaller) == ["b", "c"]
