"""Whole runs with a critic on the shipped model: what is recorded, resumed equals undisturbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.records import metrics
from bapo.run.trainer import train
from tests.support.small_runs import config_of, lines, steps_of, train_until

CONFIG = config_of(
    {
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
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert train(folder, CONFIG).status == "succeeded"
    return folder


def test_batch_adaptation_and_critic_are_recorded_together(undisturbed: Path) -> None:
    records = steps_of(undisturbed)
    assert sum((record.counts.x3 or 0) for record in records) > 0
    assert sum((record.counts.reevaluated or 0) for record in records) > 0
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


def test_a_run_that_is_resumed_twice_equals_an_undisturbed_one(undisturbed: Path, tmp_path: Path) -> None:
    # While the critic alone is trained, and after the policy has begun to move.
    for after in (1, 3):
        assert train_until(after, tmp_path, CONFIG, train).steps == after
    assert train(tmp_path, CONFIG).status == "succeeded"
    assert lines(tmp_path) == lines(undisturbed)
