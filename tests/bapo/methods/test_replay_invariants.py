"""What holds for every replay method, every legal config and every stream of rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bapo.config import RunConfig
from bapo.methods import build_method
from bapo.methods.base import ComposedBatch
from bapo.rollout import BatchSource, RolloutGroup
from tests.bapo.methods.replaying import config, group, resumed, take_step
from tests.support.drawing import examples

POOL = [f"p{i:02d}" for i in range(8)]
few = st.integers(1, 4)
perhaps_few = st.none() | few


@st.composite
def method_sections(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["repo", "remix", "arpo", "dots"]))
    section: dict[str, Any] = {"type": kind, "v": draw(few), "max_age_steps": draw(perhaps_few)}
    if kind == "repo":
        return section | {
            "strategy": draw(st.sampled_from(["full", "recency", "reward", "variance"])),
            "retrieved_responses": draw(st.integers(1, 9)),
            "groups_per_prompt": draw(few),
            "min_groups": draw(st.integers(1, 3)),
            "off_policy_weight": draw(st.floats(0.1, 2)),
        }
    section["capacity"] = draw(perhaps_few)
    if kind == "remix":
        section |= {
            "reused_share": draw(st.sampled_from([0.0, 0.3, 0.5, 0.9])),
            "reincarnation_step": draw(perhaps_few),
        }
    elif kind == "arpo":
        section["replaces"] = draw(st.sampled_from(["batch", "response"]))
    else:
        section |= {"fresh_share": draw(st.sampled_from([0.1, 0.5, 1])), "reference_prompts": draw(st.integers(1, 9))}
    return section


Stream = Sequence[Mapping[str, str]]


@st.composite
def runs(draw: st.DrawFn) -> tuple[RunConfig, Stream]:
    """A config, and the fresh groups of each step: prompt → rewards. Many fail, so that all have something to do."""
    chosen = config(draw(method_sections()), batch_size=draw(st.integers(1, 8)), rollout_size=8)
    rewards = st.just("0000") | st.text("01", min_size=4, max_size=4)
    return chosen, draw(st.lists(st.dictionaries(st.sampled_from(POOL), rewards, min_size=1), min_size=2, max_size=9))


def fresh_groups(stream: Stream, step: int) -> list[RolloutGroup]:
    return [group(prompt_id, rewards, step) for prompt_id, rewards in stream[step - 1].items()]


def joins_prompts(chosen: RunConfig) -> bool:
    """Whether single responses are put beside the group of their prompt."""
    return chosen.method.type == "repo" or getattr(chosen.method, "replaces", "batch") == "response"


@examples(1.5)
@given(runs())
def test_batches_hold_each_group_once_and_nothing_too_old(run: tuple[RunConfig, Stream]) -> None:
    chosen, stream = run
    method = build_method(chosen)
    oldest = getattr(chosen.method, "max_age_steps", None)
    for step in range(1, len(stream) + 1):
        fresh = fresh_groups(stream, step)
        batch = take_step(method, step, fresh)
        visits = Counter((visit.prompt_id, visit.source) for visit in batch.visits if visit.source == "fresh")
        assert visits == Counter((each.prompt_id, BatchSource.FRESH) for each in fresh)
        places = [(item.group.prompt_id, item.group.step) for item in batch.items]
        assert len(places) == len(set(places))
        for item in batch.items:
            if item.source is BatchSource.REUSED:
                assert item.group.step < step
                assert oldest is None or step - item.group.step <= oldest
            if item.responses is not None:
                assert 0 < len(set(item.responses)) == len(item.responses) <= item.group.group_size
                assert item.advantages is not None
                assert len(item.advantages) == len(item.responses)
        assert_counts(batch, chosen)


def assert_counts(batch: ComposedBatch, chosen: RunConfig) -> None:
    counts = batch.counts
    assert counts.x1 + (counts.x3 or 0) == counts.batch == len(batch.items)
    assert counts.x2 == counts.reevaluated == 0
    assert counts.fill_rate == counts.batch / chosen.training.batch_size
    assert (counts.x3 or 0) <= (counts.x3_candidates or 0)
    prompts = [item.group.prompt_id for item in batch.items]
    if joins_prompts(chosen):
        assert len(set(prompts)) <= chosen.training.batch_size
    else:
        assert len(set(prompts)) == len(prompts) <= chosen.training.batch_size


@given(runs())
def test_the_advantages_of_what_was_put_together_add_up_to_nothing(run: tuple[RunConfig, Stream]) -> None:
    chosen, stream = run
    method = build_method(chosen)
    for step in range(1, len(stream) + 1):
        sums: dict[str, float] = {}
        for item in take_step(method, step, fresh_groups(stream, step)).items:
            if item.advantages is not None:
                sums[item.group.prompt_id] = sums.get(item.group.prompt_id, 0.0) + sum(item.advantages)
        assert sums == pytest.approx(dict.fromkeys(sums, 0.0), abs=1e-9)


@given(runs())
def test_the_flow_of_the_buffer_adds_up(run: tuple[RunConfig, Stream]) -> None:
    chosen, stream = run
    method = build_method(chosen)
    size = 0
    for step in range(1, len(stream) + 1):
        take_step(method, step, fresh_groups(stream, step))
        difficult, state = method.buffers(step)
        assert difficult is None
        assert state is not None
        assert state.size == size + state.entered - state.evicted - state.expired == len(method.stored_groups())
        assert state.capacity is None or state.size <= state.capacity
        assert state.age_max == max((step - each.step for each in method.stored_groups()), default=None)
        size = state.size


@examples(0.6)
@given(runs(), st.data())
def test_a_method_resumed_at_any_step_decides_alike(run: tuple[RunConfig, Stream], data: st.DataObject) -> None:
    chosen, stream = run
    method = build_method(chosen)
    cut = data.draw(st.integers(1, len(stream) - 1))
    for step in range(1, cut + 1):
        take_step(method, step, fresh_groups(stream, step))
    copy = resumed(method, chosen)
    for step in range(cut + 1, len(stream) + 1):
        fresh = fresh_groups(stream, step)
        assert take_step(copy, step, fresh) == take_step(method, step, fresh)
        assert copy.state_dict() == method.state_dict()
        assert copy.thresholds() == method.thresholds()
