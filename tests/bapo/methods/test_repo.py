from __future__ import annotations

import math
from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.methods import build_method
from bapo.methods.repo import Repo
from bapo.rollout import BatchSource
from tests.bapo.methods.replaying import config, group, resumed, reused, take_step


def settings(**method: Any) -> RunConfig:
    return config({"type": "repo", **method})


def test_the_first_visit_of_a_prompt_is_plain_grpo() -> None:
    method = Repo(settings())
    batch = take_step(method, 1, [group("a", "0110", 1), group("b", "0000", 1)])
    assert [(item.source, item.responses, item.advantages) for item in batch.items] == [
        (BatchSource.FRESH, None, None)
    ] * 2
    assert (batch.counts.x1, batch.counts.x3, batch.counts.x3_candidates) == (2, 0, 0)


def test_the_past_of_a_prompt_is_standardised_apart_from_its_fresh_responses() -> None:
    method = Repo(settings(strategy="full", off_policy_weight=0.5))
    take_step(method, 1, [group("a", "1100", 1), group("b", "0001", 1)])
    take_step(method, 2, [group("a", "0000", 2)])
    batch = take_step(method, 3, [group("a", "1111", 3)])
    fresh, newer, older = batch.items
    # The fresh part is left to the engine, whatever the past is; b is not visited.
    assert (fresh.source, fresh.group.step, fresh.advantages) == (BatchSource.FRESH, 3, None)
    assert reused(batch) == [("a", 2, (0, 1, 2, 3)), ("a", 1, (0, 1, 2, 3))]
    # Two right of eight over both stored groups: μ = 1/4, var = 3/16; weighted by λ = 1/2.
    right, wrong = 0.5 * 0.75 / math.sqrt(3 / 16 + 1e-6), 0.5 * -0.25 / math.sqrt(3 / 16 + 1e-6)
    assert newer.advantages == pytest.approx([wrong] * 4)
    assert older.advantages == pytest.approx([right, right, wrong, wrong])


def test_retrieved_responses_come_on_top_of_the_batch_size() -> None:
    method = Repo(config({"type": "repo"}, batch_size=1))
    take_step(method, 1, [group("a", "0011", 1), group("b", "0111", 1)])
    batch = take_step(method, 2, [group("a", "0011", 2), group("b", "0111", 2)])
    # b finds no room, so that its past is not retrieved either.
    assert [(item.group.prompt_id, item.source) for item in batch.items] == [
        ("a", BatchSource.FRESH), ("a", BatchSource.REUSED),
    ]  # fmt: skip
    counts = batch.counts
    assert (counts.x1, counts.x3, counts.x3_candidates, counts.batch, counts.fill_rate) == (1, 1, 2, 2, 2.0)
    assert [(visit.prompt_id, visit.source, visit.in_batch, visit.reason) for visit in batch.visits] == [
        ("a", BatchSource.FRESH, True, None),
        ("b", BatchSource.FRESH, False, "no_room"),
        ("a", BatchSource.REUSED, True, None),
    ]


def test_only_the_newest_groups_of_a_prompt_are_kept() -> None:
    method = Repo(settings(strategy="full", groups_per_prompt=2))
    for step in (1, 2, 3):
        take_step(method, step, [group("a", "0011", step)])
    assert [each.step for each in method.stored_groups()] == [2, 3]
    assert reused(take_step(method, 4, [group("a", "0011", 4)])) == [("a", 3, (0, 1, 2, 3)), ("a", 2, (0, 1, 2, 3))]


@pytest.mark.parametrize(("min_groups", "from_step"), [(1, 2), (2, 3)])
def test_nothing_is_retrieved_from_too_short_a_past(min_groups: int, from_step: int) -> None:
    method = Repo(settings(min_groups=min_groups))
    steps = [step for step in (1, 2, 3, 4) if reused(take_step(method, step, [group("a", "0011", step)]))]
    assert steps == list(range(from_step, 5))


@pytest.mark.parametrize(("max_age_steps", "stored"), [(2, [1, 2]), (1, [2]), (None, [1, 2])])
def test_groups_leave_when_they_are_too_old_for_the_next_step(max_age_steps: int | None, stored: list[int]) -> None:
    method = Repo(settings(max_age_steps=max_age_steps))
    take_step(method, 1, [group("a", "0011", 1)])
    take_step(method, 2, [group("b", "0011", 2)])
    assert [each.step for each in method.stored_groups()] == stored
    state = method.buffers(2)[1]
    assert state is not None
    assert (state.size, state.entered, state.expired) == (len(stored), 1, 2 - len(stored))


def test_the_buffer_reports_what_entered_and_what_made_room() -> None:
    method = Repo(settings(groups_per_prompt=1))
    take_step(method, 1, [group("a", "0011", 1), group("b", "0011", 1)])
    take_step(method, 3, [group("a", "0111", 3)])
    difficult, state = method.buffers(3)
    assert difficult is None
    assert state is not None
    assert (state.size, state.entered, state.evicted, state.age_max, state.age_mean) == (2, 1, 1, 2, 1.0)


def test_a_resumed_method_goes_on_alike() -> None:
    chosen = settings(strategy="variance", groups_per_prompt=3)
    method = build_method(chosen)
    for step in (1, 2):
        take_step(method, step, [group("a", "0011", step), group("b", "0001", step)])
    copy = resumed(method, chosen)
    for step in (3, 4):
        fresh = [group("b", "0111", step), group("a", "0000", step)]
        assert take_step(copy, step, fresh) == take_step(method, step, fresh)
        assert copy.buffers(step) == method.buffers(step)


def test_a_fork_with_less_room_keeps_the_newest() -> None:
    method = build_method(settings(groups_per_prompt=3))
    for step in (1, 2, 3):
        take_step(method, step, [group("a", "0011", step)])
    assert [each.step for each in resumed(method, settings(groups_per_prompt=1)).stored_groups()] == [3]
