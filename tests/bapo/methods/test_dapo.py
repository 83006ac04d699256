"""Dynamic sampling by hand: B = 3, G = 4, two prompts a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bapo.config import resolve
from bapo.methods.base import ComposedBatch
from bapo.methods.dapo import Dapo
from bapo.rollout import BatchSource, RolloutGroup


def dapo(*, batch_size: int = 3, **method: Any) -> Dapo:
    explicit = {
        "method": {"type": "dapo", **method},
        "rollout": {"group_size": 4},
        "training": {"steps": 9, "batch_size": batch_size},
    }
    return Dapo(resolve(explicit).config)


def run_step(method: Dapo, step: int, rounds: Sequence[Sequence[int]]) -> tuple[int, ComposedBatch]:
    """How many of the rounds (numbers of right ones per group) were asked for, and the batch made of them."""
    fresh: list[RolloutGroup] = []
    num_rounds = 0
    for counts in rounds:
        num_rounds += 1
        method.choose_prompts(step, (), ())
        fresh += [RolloutGroup(f"p{len(fresh) + i}", k, 4, step - 1, step) for i, k in enumerate(counts)]
        if not method.wants_more_prompts(step, fresh):
            break
    method.observe_fresh(step, fresh)
    batch = method.compose(step, ())
    method.finish_step(step)
    return num_rounds, batch


def trained(batch: ComposedBatch) -> list[int]:
    return [item.group.num_correct for item in batch.items]


def test_rounds_go_on_until_the_batch_is_full_of_mixed_groups() -> None:
    # Mixed so far: 1, then 2, then 4, of which the fourth finds no room.
    rounds, batch = run_step(dapo(), 1, [(0, 1), (4, 2), (3, 2), (1, 1)])
    assert (rounds, trained(batch)) == (3, [1, 2, 3])
    assert {item.source for item in batch.items} == {BatchSource.FRESH}
    assert [visit.reason for visit in batch.visits] == ["all_wrong", None, "all_correct", None, None, "no_room"]
    assert (batch.counts.fresh, batch.counts.x1, batch.counts.fill_rate) == (6, 3, 1)


def test_no_second_round_where_the_first_one_fills_the_batch_exactly() -> None:
    assert run_step(dapo(batch_size=2), 1, [(1, 3), (2, 2)])[0] == 1
    assert run_step(dapo(batch_size=2), 1, [(1, 4), (2, 2)])[0] == 2


def test_when_the_rounds_run_out_it_trains_on_what_there_is() -> None:
    rounds, batch = run_step(dapo(), 1, [(0, 1), (4, 0), (0, 0), (0, 3), (1, 1)])
    assert (rounds, trained(batch)) == (4, [1, 3])
    assert batch.counts.fill_rate == 2 / 3
    rounds, batch = run_step(dapo(max_rounds=1), 1, [(0, 4), (2, 2)])
    assert (rounds, trained(batch), batch.counts.fresh) == (1, [], 2)


def test_each_step_has_its_rounds_anew() -> None:
    method = dapo(max_rounds=2)
    assert [run_step(method, step, [(0, 0)] * 3)[0] for step in (1, 2, 3)] == [2, 2, 2]


def test_changed_rounds_hold_from_the_next_step() -> None:
    method = dapo(max_rounds=2)
    method.reconfigure(resolve({"method": {"type": "dapo", "max_rounds": 3}, "training": {"steps": 9}}).config)
    assert run_step(method, 1, [(0, 0)] * 9)[0] == 3


def test_every_round_counts_for_r_tot() -> None:
    method = dapo(max_rounds=2)
    run_step(method, 1, [(0, 2), (4, 4)])
    # 10 of 16 responses.
    assert method.thresholds().r_tot == 10 / 16


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=6), st.integers(1, 6))
def test_the_batch_holds_the_first_mixed_groups_and_no_others(rounds: list[list[int]], batch_size: int) -> None:
    asked, batch = run_step(dapo(batch_size=batch_size, max_rounds=len(rounds)), 1, rounds)
    seen = [count for counts in rounds[:asked] for count in counts]
    mixed = [count for count in seen if 0 < count < 4]
    assert trained(batch) == mixed[:batch_size]
    assert (batch.counts.fresh, len(batch.visits)) == (len(seen), len(seen))
    # One round fewer would not have been enough.
    assert asked == 1 or sum(0 < k < 4 for counts in rounds[: asked - 1] for k in counts) < batch_size
    assert [visit.reason for visit in batch.visits].count("no_room") == max(0, len(mixed) - batch_size)
