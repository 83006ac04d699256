"""Runs the pure library on a run's recorded accuracies: what it decides must be what the run decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bapo.config import RunConfig, apply_changes, resolve
from bapo.engines.base import BatchItem, Generation, GenerationStats, Policy
from bapo.loop import Loop
from bapo.methods import build_method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import EventRecord, StepRecord, UpdateStats, visit_columns
from bapo.rollout import BatchSource, RolloutGroup
from bapo.run.journal import merged_records
from bapo.tasks import Problem, build_task

NO_TOKENS = GenerationStats(0, 0.0, 0, 0.0)
NO_UPDATE = UpdateStats(
    loss=0.0, entropy=0.0, grad_norm=0.0, kl=0.0, clip_fraction=0.0, ratio_mean=1.0, ratio_max=1.0, ratio_histogram=[],
    num_mini_batches=1, num_tokens=0, num_groups_skipped=0, learning_rate=0.0,
)  # fmt: skip


class Rewards(NamedTuple):
    """What a method may ask of a group's responses."""

    rewards: Sequence[int]


class RecordedAccuracies:
    """An engine that answers with the numbers of correct responses that a run recorded."""

    def __init__(self, records: Sequence[StepRecord], group_size: int) -> None:
        self._group_size = group_size
        self._visits = {
            (record.step, visit.source, visit.prompt_id): visit for record in records for visit in record.prompts
        }

    def sync_rollout_policy(self, version: int) -> None:
        pass

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        assert group_size == self._group_size
        source = BatchSource.FRESH if policy is Policy.ROLLOUT else BatchSource.REEVALUATED
        groups = []
        for problem in problems:
            visit = self._visits[step, source, problem.prompt_id]
            # In what order responses were right is not recorded.
            payload = Rewards([1] * visit.num_correct + [0] * (group_size - visit.num_correct))
            version = visit.policy_version or 0
            groups.append(RolloutGroup(problem.prompt_id, visit.num_correct, group_size, version, step, payload))
        return Generation(groups, NO_TOKENS)

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        return NO_UPDATE


def decisions(record: StepRecord) -> dict[str, Any]:
    """Everything in a step's record that the algorithm decided."""
    kept = ("rollout_version", "counts", "prompts", "thresholds", "difficult_buffer", "high_quality_buffer", "skipped")
    return {name: record.model_dump()[name] for name in kept}


def replayed_decisions(run_folder: Path, config: RunConfig) -> Mapping[int, dict[str, Any]]:
    """The library's decisions for each recorded step, parameter changes applied where the run applied them."""
    records = merged_records(run_folder)
    steps = [record for record in records if isinstance(record, StepRecord)]
    changes: dict[int, dict[str, Any]] = {}
    for record in records:
        if isinstance(record, EventRecord) and record.event == "parameter_change":
            changes.setdefault(record.data["applied_step"], {}).update(record.data["set"])
    task = build_task(config.task)
    engine: Any = RecordedAccuracies(steps, config.rollout.group_size)
    method = build_method(config)
    loop = Loop(
        problems={problem.prompt_id: problem for problem in task.train},
        schedule=PromptSchedule(
            task.train,
            batch_size=config.rollout.batch_size,
            seed=config.training.seed,
            weights=config.task.weights,
        ),
        method=method,
        engine=engine,
        group_size=config.rollout.group_size,
    )
    decided = {}
    for step in sorted(record.step for record in steps):
        if step in changes:
            config = resolve(apply_changes(config.model_dump(mode="json"), changes[step])).config
            method.reconfigure(config)
        outcome = loop.run_step(step)
        difficult, high_quality = method.buffers(step)
        decided[step] = {
            "rollout_version": outcome.rollout_version,
            "counts": outcome.batch.counts.model_dump(),
            "prompts": visit_columns(outcome.batch.visits),
            "thresholds": outcome.thresholds.model_dump(),
            "difficult_buffer": difficult and difficult.model_dump(),
            "high_quality_buffer": high_quality and high_quality.model_dump(),
            "skipped": outcome.update is None,
        }
    return decided
