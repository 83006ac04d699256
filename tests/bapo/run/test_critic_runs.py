"""Whole runs with a critic on the shipped model: what is recorded, resumed equals undisturbed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.records import AnyRecord, StepRecord, comparable, metrics
from bapo.run.journal import merged_records
from bapo.run.trainer import train

SMALL = {
    "method.type": "ba_ppo",
    "method.v": 2,
    "method.m": 2,
    "method.c2": ["0", "0"],
    "method.c3": ["1/2", "3/4"],
    "method.critic.warmup_steps": 2,
    "method.critic.gae_lambda": 0.95,
    "task.num_train": 36,
    "task.num_test": 8,
    "rollout.batch_size": 12,
    "rollout.group_size": 4,
    "training.batch_size": 12,
    "training.mini_batch_size": 6,
    "training.steps": 6,
    "training.checkpoint_interval": 2,
    "tracking.num_prompts": 0,
    "evaluation.enabled": False,
}
CONFIG: RunConfig = resolve(apply_changes({}, SMALL)).config


class StopAfter:
    """Asks for a stop once a step has been recorded."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.stop = threading.Event()

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, StepRecord) and record.step >= self.step:
            self.stop.set()


def steps(run_folder: Path) -> list[StepRecord]:
    return [record for record in merged_records(run_folder) if isinstance(record, StepRecord)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train(folder, CONFIG).status == "succeeded"
    return folder


def test_batch_adaptation_and_critic_are_recorded_together(undisturbed: Path) -> None:
    records = steps(undisturbed)
    assert sum(record.counts.x3 for record in records) > 0
    assert sum(record.counts.reevaluated for record in records) > 0
    for record in records:
        assert record.update is not None
        critic = record.update.critic
        assert critic is not None
        assert critic.grad_norm > 0
        # Values are 0 before the first update; the policy moves from step 3 on.
        assert (critic.value_mean == 0) == (record.step == 1)
        assert (record.update.grad_norm == 0) == (record.step <= 2)
        assert record.update.num_groups_skipped == 0
        # Two mini-batches of 6 groups where there are more than 6.
        assert record.update.num_mini_batches == -(-record.counts.batch // 6)
        recorded = metrics(record)
        assert recorded["critic/vf_loss"] == critic.loss
        assert recorded["critic/grad_norm"] == critic.grad_norm
        assert recorded["critic/lr"] == 1e-3


@pytest.mark.parametrize("after", [1, 3])
def test_a_resumed_run_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path, after: int) -> None:
    stopping = StopAfter(after)
    assert train(tmp_path, CONFIG, observer=stopping, stop=stopping.stop).steps == after
    assert train(tmp_path, CONFIG).status == "succeeded"
    assert [comparable(record) for record in steps(tmp_path)] == [comparable(record) for record in steps(undisturbed)]
