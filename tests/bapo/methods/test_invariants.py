"""What holds for every method, every legal config and every stream of accuracies."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from bapo.config import RunConfig, resolve
from bapo.methods import build_method
from bapo.methods.bapo import Bapo, bapo_config
from bapo.methods.base import ComposedBatch
from bapo.records import BufferState
from bapo.rollout import BatchSource, RolloutGroup
from tests.support.drawing import examples
from tests.support.legal_configs import (
    FreshStream,
    legal_configs,
    streams,
    threshold_ranges,
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[RunConfig, FreshStream]:
    config = draw(legal_configs())
    return config, draw(streams(config.rollout.group_size))


@dataclass
class Step:
    """One step as the loop would run it."""

    fresh: list[RolloutGroup]
    answers: list[RolloutGroup]
    batch: ComposedBatch
    difficult_buffer: BufferState | None
    high_quality_buffer: BufferState | None
    state: dict[str, Any]


class Run:
    """A method under way; answers to difficult prompts depend on step and prompt alone."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.method = build_method(config)

    def group(self, prompt_id: str, num_correct: int, step: int) -> RolloutGroup:
        return RolloutGroup(
            prompt_id, num_correct, self.config.rollout.group_size, step - 1, step, f"{prompt_id}{step}"
        )

    def step(self, number: int, stream: FreshStream) -> Step:
        fresh = [self.group(prompt_id, k, number) for prompt_id, k in stream[number - 1].items()]
        self.method.observe_fresh(number, fresh)
        answers = [
            self.group(
                prompt_id, random.Random(f"{number}{prompt_id}").randint(0, self.config.rollout.group_size), number
            )
            for prompt_id in self.method.prompts_to_reevaluate(number)
        ]
        batch = self.method.compose(number, answers)
        self.method.finish_step(number)
        return Step(fresh, answers, batch, *self.method.buffers(number), self.method.state_dict())


def seen(groups: Sequence[RolloutGroup]) -> Counter[tuple[str, int, int]]:
    return Counter((group.prompt_id, group.num_correct, group.policy_version) for group in groups)


@given(runs())
def test_every_group_is_accounted_for_exactly_once(run: tuple[RunConfig, FreshStream]) -> None:
    config, stream = run
    ours = Run(config)
    for number in range(1, len(stream) + 1):
        step = ours.step(number, stream)
        reused = [item.group for item in step.batch.items if item.source is BatchSource.REUSED]
        for source, groups in (
            (BatchSource.FRESH, step.fresh),
            (BatchSource.REEVALUATED, step.answers),
            (BatchSource.REUSED, reused),
        ):
            visits = [visit for visit in step.batch.visits if visit.source is source]
            assert Counter((v.prompt_id, v.num_correct, v.policy_version) for v in visits) == seen(groups)
            trained = [item.group for item in step.batch.items if item.source is source]
            assert Counter((v.prompt_id, v.num_correct, v.policy_version) for v in visits if v.in_batch) == seen(
                trained
            )
        assert all((visit.reason is None) is visit.in_batch for visit in step.batch.visits)


@given(runs())
def test_the_batch_adds_up(run: tuple[RunConfig, FreshStream]) -> None:
    config, stream = run
    ours = Run(config)
    for number in range(1, len(stream) + 1):
        step = ours.step(number, stream)
        counts, prompts = step.batch.counts, [item.group.prompt_id for item in step.batch.items]
        assert len(prompts) == len(set(prompts)) == counts.batch
        assert (
            counts.x1 + (counts.x2 or 0) + (counts.x3 or 0)
            == counts.batch
            <= counts.batch_size
            == config.training.batch_size
        )
        assert counts.fill_rate == counts.batch / counts.batch_size
        assert (counts.fresh, counts.reevaluated) == (len(step.fresh), len(step.answers))
        assert (counts.reevaluated or 0) == (counts.improved or 0) + (counts.solved or 0) + (
            counts.still_difficult or 0
        )
        assert (counts.improved or 0) == (counts.x2 or 0) + (counts.surplus_stored or 0) + (counts.surplus_dropped or 0)
        # A step's own order: X1, X2, X3.
        order = [list(BatchSource).index(item.source) for item in step.batch.items]
        assert order == sorted(order)
        # What was generated carries its payload through unread.
        assert all(item.group.payload == f"{item.group.prompt_id}{item.group.step}" for item in step.batch.items)


@given(runs())
def test_each_part_of_the_batch_keeps_its_rule(run: tuple[RunConfig, FreshStream]) -> None:
    config, stream = run
    assume(config.method.type.startswith("bapo"))
    ours, rules, group_size = Run(config), bapo_config(config), config.rollout.group_size
    for number in range(1, len(stream) + 1):
        today = ours.method.thresholds()
        assert today.c1 is not None
        assert today.difficult_max_count is not None
        assert today.reusable_min_count is not None
        assert today.reusable_max_count is not None
        step = ours.step(number, stream)
        for item in step.batch.items:
            k = item.group.num_correct
            if item.source is BatchSource.FRESH:
                assert rules.filter.type == "uniform" or 0 < k < group_size
            elif item.source is BatchSource.REEVALUATED:
                if config.method.type == "bapo_release":
                    continue
                # c1 < μ < 1 (Eq. 6), compared exactly.
                assert rules.c1 < Fraction(k, group_size) < 1
                assert k > today.difficult_max_count
            else:
                assert today.reusable_min_count <= k <= today.reusable_max_count
                assert number - rules.high_quality_buffer.max_age_steps <= item.group.step < number
        counts = step.batch.counts
        if "reused" in rules.without:
            assert counts.x3 == 0
        else:
            assert (counts.x3 or 0) == min(counts.x3_candidates or 0, counts.batch_size - counts.x1 - (counts.x2 or 0))
        if number % rules.m or "reevaluated" in rules.without:
            assert step.answers == []
        assert len(step.answers) <= rules.max_reevaluated_prompts
        assert not {group.prompt_id for group in step.answers} & {group.prompt_id for group in step.fresh}


@given(runs())
def test_buffers_hold_what_they_may_and_their_flow_adds_up(run: tuple[RunConfig, FreshStream]) -> None:
    config, stream = run
    assume(config.method.type.startswith("bapo"))
    ours, rules = Run(config), bapo_config(config)
    sizes = [0, 0]
    for number in range(1, len(stream) + 1):
        step = ours.step(number, stream)
        for index, state in enumerate((step.difficult_buffer, step.high_quality_buffer)):
            assert state is not None
            assert state.capacity is None or state.size <= state.capacity
            lost = state.left_improved + state.evicted + state.expired
            assert state.size == sizes[index] + state.entered - lost
            sizes[index] = state.size
        assert step.difficult_buffer is not None
        assert step.high_quality_buffer is not None
        assert step.difficult_buffer.capacity == (rules.difficult_buffer.capacity or config.training.batch_size)
        for _, k, evaluated in step.state["difficult_buffer"]["prompts"]:
            assert Fraction(k, config.rollout.group_size) <= rules.c1
            assert evaluated <= number
        # At most `max_age_steps` old in the next step.
        ages = [number - entry[4] for entry in step.state["high_quality_buffer"]["groups"]]
        assert all(0 <= age < rules.high_quality_buffer.max_age_steps for age in ages)
        for state, entry_ages in (
            (step.high_quality_buffer, ages),
            (step.difficult_buffer, [number - entry[2] for entry in step.state["difficult_buffer"]["prompts"]]),
        ):
            assert state.age_max == max(entry_ages, default=None)


@examples(0.6)
@given(runs(), st.data())
def test_a_run_resumed_at_any_step_decides_alike(run: tuple[RunConfig, FreshStream], data: st.DataObject) -> None:
    config, stream = run
    ours, resumed = Run(config), Run(config)
    cut = data.draw(st.integers(1, len(stream) - 1))
    for number in range(1, cut + 1):
        state = ours.step(number, stream).state
    payloads = [group.payload for group in ours.method.stored_groups()]
    resumed.method.load_state_dict(json.loads(json.dumps(state)), payloads)
    assert resumed.method.thresholds() == ours.method.thresholds()
    for number in range(cut + 1, len(stream) + 1):
        assert resumed.step(number, stream) == ours.step(number, stream)


@given(threshold_ranges(), st.lists(st.tuples(st.integers(0, 24), st.just(24)), max_size=12))
def test_thresholds_stay_legal_at_every_r_tot(ranges: dict[str, list[str]], rewards: list[tuple[int, int]]) -> None:
    section = {"type": "bapo", "without": ["reused"], **ranges}
    method = Bapo(resolve({"method": section, "training": {"steps": 99}}).config)
    for step, (num_correct, group_size) in enumerate(rewards, start=1):
        method.observe_fresh(step, [RolloutGroup("p", num_correct, group_size, 0, step)])
        method.compose(step, ())
        method.finish_step(step)
        values = method.thresholds()
        assert values.c2 is not None
        assert values.c3 is not None
        assert 0 <= values.r_tot <= 1
        assert 0 <= values.c2 <= values.c3 < 1
