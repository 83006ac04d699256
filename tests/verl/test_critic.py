"""The critic on verl does what the local engine's does, and stays as it is in a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.method import METHODS
from bapo.config.recipes import load_recipe
from bapo.engines.base import BatchItem, Policy
from bapo.rollout import BatchSource
from bapo.tasks import build_task
from tests.verl.comparing import assert_equal_updates, weights
from tests.verl.short_runs import assert_it_trained, of_method, train_on

GROUP_SIZE, NUM_PROBLEMS = 4, 8
SETTINGS = {
    "method.type": "ba_ppo",
    "method.critic.gae_lambda": 0.9,
    "method.critic.discount": 0.95,
    # So tight that it takes the gradient of some tokens.
    "method.critic.value_clip": 0.02,
    "rollout.group_size": GROUP_SIZE,
    "task.num_test": 16,
    "task.num_train": 32,
    # Large enough to leave the gradient as it is.
    "training.max_grad_norm": 1000.0,
    # Several optimizer steps, with values from before the first.
    "training.mini_batch_size": 3,
}


def _config(**changes: Any) -> RunConfig:
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    return resolve(apply_changes(load_recipe("countdown-quick").explicit, SETTINGS | changes)).config


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    from bapo.run.engine import build_engine  # noqa: PLC0415

    config = _config(engine__type="verl")
    engine = build_engine(config, build_task(config.task))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def batch(engine: Any) -> Sequence[BatchItem]:
    """Generated before the first update; the last group may have equal rewards, which have a gradient here."""
    problems = build_task(_config().task).train[:NUM_PROBLEMS]
    groups = engine.generate(problems, group_size=GROUP_SIZE, policy=Policy.CURRENT, step=1, purpose="rollout").groups
    sources = [BatchSource.FRESH, BatchSource.REUSED]
    return [BatchItem(group, sources[index % 2]) for index, group in enumerate(groups)]


def test_before_training_every_value_is_0(engine: Any, batch: Sequence[BatchItem]) -> None:
    stats = engine.update(batch, step=1)
    assert stats.critic.value_mean == 0
    assert stats.critic.explained_variance == pytest.approx(0, abs=1e-6)
    assert stats.num_mini_batches == 3
    # By the later mini-batches, values have moved further than they may.
    assert stats.critic.clip_fraction > 0
    assert stats.num_groups_skipped == 0
    assert stats.timing["verl/values"] > 0
    assert stats.timing["verl/update_critic"] > 0


def test_an_update_equals_the_local_engines(engine: Any, batch: Sequence[BatchItem], tmp_path: Path) -> None:
    # One mini-batch, so that each optimizer makes one step.
    config = _config(training__mini_batch_size=None)
    own = engine._config
    engine._config = config
    try:
        stats = assert_equal_updates(engine, batch, config, tmp_path)
    finally:
        engine._config = own
    assert stats.critic.value_mean != 0


def test_in_its_warm_up_the_policy_does_not_move(engine: Any, batch: Sequence[BatchItem], tmp_path: Path) -> None:
    import torch  # noqa: PLC0415

    for name in ("before", "after"):
        (tmp_path / name).mkdir()
    engine.save(tmp_path / "before", ())
    own = engine._critic._config
    engine._critic._config = own.model_copy(update={"warmup_steps": 99})
    try:
        stats = engine.update(batch, step=5)
    finally:
        engine._critic._config = own
    engine.save(tmp_path / "after", ())

    def changed(folder: str) -> bool:
        before, after = (weights(tmp_path / name / folder) for name in ("before", "after"))
        return any(not torch.equal(before[name], after[name]) for name in before)

    assert changed("critic")
    assert not changed("actor")
    assert stats.grad_norm == 0
    assert stats.num_tokens == sum(response.length for item in batch for response in item.group.payload.responses)
    assert sum(stats.ratio_histogram) == stats.num_tokens
    assert stats.entropy > 0


def test_a_checkpoint_keeps_the_critic(engine: Any, batch: Sequence[BatchItem], tmp_path: Path) -> None:
    import torch  # noqa: PLC0415

    from bapo.engines.verl.rows import Rows  # noqa: PLC0415

    rows = Rows.of(batch)
    before = torch.cat(engine._trainer.values(rows))
    engine.save(tmp_path, ())
    engine.update(batch, step=6)
    assert not torch.equal(torch.cat(engine._trainer.values(rows)), before)
    engine.load(tmp_path)
    torch.testing.assert_close(torch.cat(engine._trainer.values(rows)), before, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", [name for name, each in METHODS.classes.items() if each.has_critic])
def test_a_method_with_a_critic_trains_stops_and_resumes(engine: Any, name: str, tmp_path: Path) -> None:
    config = of_method(name)
    records = train_on(engine, config, tmp_path / "run")
    assert_it_trained(records, config, tmp_path / "run")
    assert all(record.update is None or record.update.critic is not None for record in records)
