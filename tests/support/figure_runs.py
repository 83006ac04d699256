"""Runs small enough to work out by hand what their figures show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.api.records import Series
from bapo.figures.recorded import RecordedRun
from bapo.records import EvaluationRecord, Interval, TrackingRecord
from tests.support.journals import tracking

GROUP_SIZE = 4


def config(method: str = "bapo", *, seed: int = 1, **changes: Any) -> dict[str, Any]:
    """The fields that figures read; `changes` are dotted paths with `__` for the dot, such as `method__v=1`."""
    whole: dict[str, Any] = {
        "model": {"path": "tiny"},
        "task": {"type": "countdown"},
        "method": {"type": method},
        "rollout": {"group_size": GROUP_SIZE, "batch_size": 2},
        "training": {"seed": seed, "batch_size": 2, "mini_batch_size": None, "learning_rate": 0.1},
    }
    if method == "bapo":
        whole["method"] |= {
            "v": 5,
            "m": 5,
            "c1": 0.125,
            "c2": [0.125, 0.5],
            "c3": [0.25, 0.625],
            "without": [],
            "filter": {"type": "range"},
        }
    for path, value in changes.items():
        section, name = path.split("__")
        whole[section] = whole[section] | {name: value}
    return whole


def run(
    name: str,
    method: str = "bapo",
    *,
    seed: int = 1,
    columns: Mapping[str, Sequence[float | None]] | None = None,
    evaluations: Sequence[EvaluationRecord] = (),
    tracking: Sequence[TrackingRecord] = (),
    changes: Mapping[str, Any] | None = None,
) -> RecordedRun:
    """A run whose steps are 1, 2, … as many as its columns are long."""
    columns = columns or {}
    length = max((len(values) for values in columns.values()), default=0)
    return RecordedRun(
        id=name,
        name=name,
        config=config(method, seed=seed, **(changes or {})),
        steps=Series(steps=list(range(1, length + 1)), columns=dict(columns)),
        evaluations=evaluations,
        tracking=tracking,
    )


def evaluation(
    step: int, num_correct: Sequence[int], *, dataset: str = "CD-4", num_samples: int = 4
) -> EvaluationRecord:
    """An evaluation of problems p0, p1, …; pass@k is the share that was solved at least once."""
    mean = sum(num_correct) / (num_samples * len(num_correct))
    solved = sum(count > 0 for count in num_correct) / len(num_correct)
    return EvaluationRecord(
        attempt=1,
        step=step,
        dataset=dataset,
        num_samples=num_samples,
        num_correct=num_correct,
        prompt_ids=[f"p{index}" for index in range(len(num_correct))],
        avg_at_k=Interval(value=mean, low=max(0.0, mean - 0.1), high=min(1.0, mean + 0.1)),
        greedy=Interval(value=mean, low=mean, high=mean),
        pass_at={num_samples: Interval(value=solved, low=max(0.0, solved - 0.1), high=min(1.0, solved + 0.1))},
        timing={},
    )


def tracked(step: int, num_correct: Sequence[int], *, replicate: int = 0) -> TrackingRecord:
    """A sampling of the tracked prompts."""
    return tracking(step, num_correct, replicate=replicate, group_size=GROUP_SIZE)


COLUMNS = {
    "critic/rewards/mean": [0.1, 0.2],
    "actor/entropy": [1.0, 0.9],
    "actor/grad_norm": [1.0, 1.1],
    "response_length/mean": [5.0, 6.0],
    "bapo/batch/x1": [2.0, 1.0],
    "bapo/batch/x2": [0.0, 1.0],
    "bapo/batch/x3": [0.0, 0.0],
    "bapo/batch/batch": [2.0, 2.0],
    "bapo/batch/batch_size": [2.0, 2.0],
    "bapo/cost/num_rollouts": [8.0, 20.0],
    "bapo/cost/num_tokens": [80.0, 200.0],
    "timing_s/step": [1.0, 1.0],
    "timing_s/elapsed": [1.0, 2.0],
}


def full(name: str, method: str = "bapo", *, seed: int = 1, **changes: Any) -> RecordedRun:
    """Return a run that has all that the figures need of one run."""
    return run(
        name,
        method,
        seed=seed,
        columns=COLUMNS,
        evaluations=[evaluation(0, [0, 1, 4]), evaluation(1, [1, 1, 4]), evaluation(2, [2, 3, 4])],
        tracking=[tracked(0, [0, 0, 2]), tracked(0, [0, 1, 2], replicate=1), tracked(2, [1, 0, 4])],
        changes=changes,
    )
