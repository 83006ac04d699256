"""A recorded run replayed: exactly itself under its own config, exact or with an interval under another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.draws import generator
from bapo.methods import build_method
from bapo.recording import accuracy_histogram
from bapo.records import (
    Cost,
    Interval,
    StepRecord,
)
from bapo.rollout import RolloutGroup
from bapo.what_if import what_if

NUM_PROMPTS = 40
BATCH = 10


def config(**changes: Any) -> RunConfig:
    settings = {"method.m": 2, "training.batch_size": BATCH, "rollout.batch_size": BATCH, "training.steps": 12}
    return resolve(apply_changes({"method": {"type": "bapo"}}, settings | dict(changes))).config


def recorded(run_config: RunConfig, num_steps: int = 12) -> list[StepRecord]:
    """A run whose prompt i is answered with a fixed chance of i / NUM_PROMPTS, whatever the policy."""
    method = build_method(run_config)
    records = []

    def answer(prompt: int, step: int, purpose: str) -> RolloutGroup:
        draw = generator(1, step, f"{purpose}:{prompt}")
        num_correct = sum(draw.random() < prompt / NUM_PROMPTS for _ in range(8))
        return RolloutGroup(f"p{prompt:02}", num_correct, 8, step - 1, step)

    for step in range(1, num_steps + 1):
        fresh = [answer((step * BATCH + i) % NUM_PROMPTS, step, "fresh") for i in range(BATCH)]
        thresholds = method.thresholds()
        method.observe_fresh(step, fresh)
        reevaluated = [answer(int(p[1:]), step, "again") for p in method.prompts_to_reevaluate(step)]
        batch = method.compose(step, reevaluated)
        method.finish_step(step)
        difficult, high_quality = method.buffers(step)
        records.append(
            StepRecord(
                schema=1, attempt=1, step=step, num_steps=num_steps, epoch=0, group_size=8, skipped=False,
                rollout_version=step - 1, trainer_version=step - 1, counts=batch.counts,
                fresh_histogram=accuracy_histogram(fresh, 8),
                reevaluated_histogram=accuracy_histogram(reevaluated, 8),
                batch_histogram=accuracy_histogram([item.group for item in batch.items], 8),
                prompts=batch.visits, thresholds=thresholds, difficult_buffer=difficult,
                high_quality_buffer=high_quality, update=None, reward_mean=0.5, batch_reward_mean=None,
                response_length_mean=1, response_length_max=1, response_clip_ratio=0,
                cost=Cost(num_rollouts=0, num_tokens=0, num_tracking_rollouts=0, num_evaluation_rollouts=0),
                timing={}, system={},
            )
        )  # fmt: skip
    return records


def exactly(value: float) -> Interval:
    return Interval(value=value, low=value, high=value)


def test_under_its_own_config_a_run_is_replayed_exactly() -> None:
    records = recorded(config())
    assert sum(record.counts.x2 for record in records) > 0
    assert sum(record.counts.x3 for record in records) > 0
    for record, step in zip(records, what_if(records, config()), strict=True):
        assert record.difficult_buffer is not None
        assert (step.x1, step.is_exact, step.num_estimated) == (record.counts.x1, True, 0)
        assert step.x2 == exactly(record.counts.x2)
        assert step.x3 == exactly(record.counts.x3)
        assert step.batch == exactly(record.counts.batch)
        assert step.difficult_size == exactly(record.difficult_buffer.size)


def test_other_reuse_thresholds_need_no_estimate_while_nothing_else_is_asked_again() -> None:
    records = recorded(config())
    wider = config(**{"method.c2": [0, 0], "method.c3": [0.75, 0.75]})
    steps = what_if(records, wider)
    # c2 and c3 decide what is stored and reused; which prompts are difficult, and so asked again, stays.
    assert all(step.is_exact for step in steps)
    assert sum(step.x3.value for step in steps) > sum(record.counts.x3 for record in records)


def test_more_frequent_re_evaluation_is_estimated_with_an_interval() -> None:
    records = recorded(config())
    steps = what_if(records, config(**{"method.m": 1}))
    # Odd steps ask for prompts that the recorded run did not ask for.
    assert not steps[-1].is_exact
    assert any(step.x2.low < step.x2.high for step in steps)
    # Fresh groups were what they were, however often the buffer is asked again.
    assert [step.x1 for step in steps] == [record.counts.x1 for record in records]
    assert all(step.batch.high <= BATCH for step in steps)


def test_a_replay_draws_the_same_every_time() -> None:
    records = recorded(config())
    changed = config(**{"method.m": 1})
    assert what_if(records, changed) == what_if(records, changed)


def test_without_re_evaluation_nothing_is_estimated() -> None:
    steps = what_if(recorded(config()), config(**{"method.without": ["reevaluated"]}))
    assert all(step.is_exact and step.x2 == exactly(0) for step in steps)


@pytest.mark.parametrize(
    ("records", "changes", "message"),
    [
        (recorded(config())[1:], {}, "lacks steps"),
        (recorded(config()), {"rollout.group_size": 4, "method.c2": [0, 0], "method.c3": [0.5, 0.5]}, "group_size = 4"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    records: Sequence[StepRecord], changes: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        what_if(records, config(**changes))
