"""Journal lines as a trainer writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from bapo.api.workers import RecordBatch
from bapo.records import (
    Cost,
    EvaluationRecord,
    EventRecord,
    Interval,
    PromptVisit,
    Record,
    SampledResponse,
    SampleRecord,
    SourceCounts,
    StepRecord,
    ThresholdValues,
    TrackingRecord,
    UpdateStats,
    dump_record,
)
from bapo.rollout import BatchSource

NUM_STEPS = 150
ROLLOUTS_PER_STEP = 256


def step(number: int, *, attempt: int = 1, reward_mean: float = 0.5, loss: float = 0.1) -> StepRecord:
    """A training step with two prompts: `p<number>` fresh with 3 of 8 right, `shared` reused with 4 of 8."""
    return StepRecord(
        attempt=attempt,
        step=number,
        num_steps=NUM_STEPS,
        epoch=0,
        group_size=8,
        skipped=False,
        rollout_version=0,
        trainer_version=number - 1,
        counts=SourceCounts(
            fresh=32,
            x1=16,
            reevaluated=0,
            improved=0,
            x2=0,
            solved=0,
            still_difficult=0,
            surplus_stored=0,
            surplus_dropped=0,
            x3_candidates=4,
            x3=4,
            batch=20,
            batch_size=32,
            fill_rate=0.625,
        ),
        fresh_histogram=[10, 1, 2, number, 4, 0, 0, 0, 6],
        reevaluated_histogram=[0] * 9,
        batch_histogram=[0, 1, 2, number, 4, 0, 0, 0, 0],
        prompts=[
            PromptVisit(f"p{number}", BatchSource.FRESH, 3, number - 1, True),
            PromptVisit("shared", BatchSource.REUSED, 4, 0, False, "no_room"),
        ],
        thresholds=ThresholdValues(
            c1=0.125,
            c2=0.125,
            c3=0.25,
            r_tot=0.0,
            difficult_max_count=1,
            reusable_min_count=1,
            reusable_max_count=2,
        ),
        difficult_buffer=None,
        high_quality_buffer=None,
        update=UpdateStats(
            loss=loss,
            entropy=0.25,
            grad_norm=1.5,
            kl=0.0,
            clip_fraction=0.0,
            ratio_mean=1.0,
            ratio_max=1.25,
            ratio_histogram=[0] * 13,
            num_mini_batches=1,
            num_tokens=1000,
            num_groups_skipped=0,
            learning_rate=3e-4,
        ),
        reward_mean=reward_mean,
        batch_reward_mean=0.5,
        response_length_mean=9.5,
        response_length_max=16,
        response_clip_ratio=0.0,
        cost=Cost(
            num_rollouts=number * ROLLOUTS_PER_STEP,
            num_tokens=number * 2000,
            num_tracking_rollouts=0,
            num_evaluation_rollouts=0,
        ),
        timing={"step": 0.25, "unix_time": 1_700_000_000.0 + number},
        system={"memory": 5e8},
    )


def evaluation(number: int, value: float, *, dataset: str = "CD-34", attempt: int = 1) -> EvaluationRecord:
    """An evaluation after `number` steps."""
    interval = Interval(value=value, low=value - 0.02, high=value + 0.02)
    return EvaluationRecord(
        attempt=attempt,
        step=number,
        dataset=dataset,
        num_samples=8,
        num_correct=[1, 2],
        prompt_ids=["a", "b"],
        avg_at_k=interval,
        greedy=interval,
        pass_at={1: interval, 8: interval},
        timing={"unix_time": 1_700_000_000.0 + number},
    )


def tracking(
    number: int, num_correct: Sequence[int] = (1, 2), *, replicate: int = 0, group_size: int = 8, attempt: int = 1
) -> TrackingRecord:
    """A sampling of the prompts a, b, … after `number` steps."""
    return TrackingRecord(
        attempt=attempt,
        step=number,
        replicate=replicate,
        group_size=group_size,
        prompt_ids=list(ascii_lowercase[: len(num_correct)]),
        num_correct=list(num_correct),
        timing={},
    )


def event(name: str, number: int = 0, *, attempt: int = 1, **data: object) -> EventRecord:
    """An event after `number` steps."""
    line = {"attempt": attempt, "step": number, "event": name, "message": f"{name} happened", "data": data}
    return EventRecord.model_validate({**line, "timing": {"unix_time": 1_700_000_000.0 + number}})


def sample(number: int, prompt_id: str = "shared", *, attempt: int = 1, text: str = "3+4=7") -> SampleRecord:
    """A sampled group."""
    return SampleRecord(
        attempt=attempt,
        step=number,
        prompt_id=prompt_id,
        prompt="3 4=7",
        answer={"nums": [3, 4], "target": 7},
        source=BatchSource.FRESH,
        num_correct=1,
        group_size=1,
        policy_version=number - 1,
        in_batch=True,
        responses=[SampledResponse(text=text, reward=1, num_tokens=6, logprob_sum=-1.5)],
    )


def lines_of(records: Sequence[Record]) -> list[str]:
    """As they stand in a file, without newlines."""
    return [dump_record(record).decode().rstrip("\n") for record in records]


def with_prompt_objects(line: Mapping[str, Any]) -> dict[str, Any]:
    """A step's line as up to version 0.2, and as the API gives it: one object for each prompt."""
    prompts = line["prompts"]
    return {**line, "prompts": [dict(zip(prompts, row, strict=True)) for row in zip(*prompts.values(), strict=True)]}


def batch(lines: Sequence[str], *, token: int, start: int = 0, attempt: int = 1, kind: str = "records") -> RecordBatch:
    """A batch of whole lines that begin at a byte offset."""
    end = start + sum(len(line.encode()) + 1 for line in lines)
    return RecordBatch.model_validate(
        {
            "fencing_token": token,
            "attempt": attempt,
            "kind": kind,
            "start_offset": start,
            "end_offset": end,
            "lines": list(lines),
        }
    )


def filled(number: int, rate: float, *, attempt: int = 1) -> StepRecord:
    """Return a step whose batch is filled to this share."""
    record = step(number, attempt=attempt)
    return record.model_copy(update={"counts": record.counts.model_copy(update={"fill_rate": rate})})
