"""The records of a trainer as lines that people read: its log, and what `bapo train` prints."""

from __future__ import annotations

import time

from bapo.records import AnyRecord, EvaluationRecord, EventRecord, StepRecord, TrackingRecord

_UNTOLD_EVENTS = frozenset({"failed"})
"""The traceback follows."""


def log_line(record: AnyRecord) -> str | None:
    """Return the line of a record, with its time in UTC; None for one that is not meant for people."""
    match record:
        case StepRecord():
            text = f"step {record.step}/{record.num_steps}: {step_line(record)}{_update(record)}"
            text += f"  {record.timing['step']:.2f} s" if "step" in record.timing else ""
        case EvaluationRecord():
            text = evaluation_line(record)
        case TrackingRecord():
            correct = sum(record.num_correct) / max(1, len(record.num_correct) * record.group_size)
            text = f"step {record.step}: {len(record.prompt_ids):,} tracked prompts {correct:.1%} correct"
        case EventRecord() if record.event not in _UNTOLD_EVENTS:
            text = event_line(record)
        case _:
            return None
    return f"{time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(record.timing.get('unix_time')))}  {text}"


def step_line(record: StepRecord) -> str:
    """Return the reward and the batch composition of a step."""
    counts = record.counts
    reward = "none" if record.reward_mean is None else f"{record.reward_mean:.2f}"
    return f"reward {reward}  batch {counts.batch}/{counts.batch_size}: X1 {counts.x1}, X2 {counts.x2}, X3 {counts.x3}"


def evaluation_line(record: EvaluationRecord) -> str:
    """Return the accuracy of an evaluation with its interval."""
    value = record.avg_at_k
    return (
        f"step {record.step}: {record.dataset} avg@{record.num_samples} {value.value:.1%} "
        f"(95 % interval {value.low:.1%} to {value.high:.1%})"
    )


def event_line(record: EventRecord) -> str:
    """Return what happened between two steps."""
    return f"step {record.step}: {record.event.replace('_', ' ')}: {record.message}"


def _update(record: StepRecord) -> str:
    update = record.update
    return "  no update" if update is None else f"  loss {update.loss:.4f}  KL {update.kl:.2g}"
