"""Made-up runs of a study: what they recorded, without a trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bapo.config.resolve import apply_changes, resolve
from bapo.records import EvaluationRecord, Interval, TrackingRecord
from bapo.study.declaration import Declaration, parse
from bapo.study.measured_run import METRIC_KEYS, MeasuredRun
from bapo.study.results import StudyRunInfo

TEXT = """
title = "Two arms"
question = "Is A above B?"
recipe = "countdown-demo"
seeds = [1, 2, 3]
test_sets = ["CD-34"]
num_runs = 6
[[arms]]
name = "A"
method = "bapo"
[[arms]]
name = "B"
method = "grpo"
[primary]
arm = "A"
against = "B"
"""


def two_arms(text: str = TEXT) -> Declaration:
    return parse(text)


def evaluation(step: int, value: float, dataset: str = "CD-34") -> EvaluationRecord:
    exactly = Interval(value=value, low=value, high=value)
    return EvaluationRecord(
        attempt=1,
        step=step,
        dataset=dataset,
        num_samples=8,
        num_correct=[],
        prompt_ids=[],
        avg_at_k=exactly,
        greedy=exactly,
        pass_at={8: exactly},
        timing={},
    )


def measured_run(
    accuracies: Mapping[int, float],
    *,
    method: str = "bapo",
    rollouts_per_step: int = 256,
    cpu_per_step: float = 0.25,
    counts: Mapping[str, float] | None = None,
    tracked: Sequence[TrackingRecord] = (),
    datasets: Sequence[str] = ("CD-34",),
) -> MeasuredRun:
    """A run with evaluations by step; every step is alike."""
    num_steps = max(accuracies)
    columns = {key: np.full(num_steps, np.nan) for key in METRIC_KEYS}
    columns["bapo/cost/num_rollouts"] = rollouts_per_step * np.arange(1.0, num_steps + 1)
    columns["timing_s/step_cpu"] = np.full(num_steps, cpu_per_step)
    for name, value in (counts or {}).items():
        columns[f"bapo/batch/{name}"] = np.full(num_steps, value)
    config = resolve(apply_changes({}, {"method.type": method})).config.model_dump(mode="json")
    return MeasuredRun(
        config=config,
        steps=np.arange(1, num_steps + 1),
        columns=columns,
        evaluations=[evaluation(step, value, each) for step, value in accuracies.items() for each in datasets],
        tracking=tracked,
    )


def run_info(arm: str, seed: int, state: str = "done", reason: str | None = None) -> StudyRunInfo:
    return StudyRunInfo.model_validate(
        {
            "name": f"main--{arm.lower()}--seed-{seed}",
            "stage": "final",
            "regime": "main",
            "arm": arm,
            "seed": seed,
            "set": {},
            "state": state,
            "reason": reason,
            "step": 20,
            "num_steps": 20,
            "run_id": None,
            "folder": f"runs/main--{arm.lower()}--seed-{seed}",
        }
    )
