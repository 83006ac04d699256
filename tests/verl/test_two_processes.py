"""Two training processes share a batch, and the update is that of one: no token counts more for its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.recipes import load_recipe
from bapo.engine import BatchItem, Policy
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks import build_task
from bapo.tasks.base import Task
from tests.verl.comparing import assert_equal_updates

# Eleven groups of four: 44 rows are shared out as 22 and 22 by length, whose tokens are not equally many.
NUM_PROBLEMS, GROUP_SIZE = 11, 4
SETTINGS = {
    "engine.type": "verl",
    "engine.verl.gpus_per_node": 2,
    "rollout.group_size": GROUP_SIZE,
    "task.num_test": 16,
    "task.num_train": 64,
    # Large enough to leave the gradient as it is.
    "training.max_grad_norm": 1000.0,
    # Adam then keeps the gradient, up to a factor, in its first moment.
    "training.learning_rate": 1e-3,
    "loss.kl_coefficient": 0.01,
    "loss.entropy_coefficient": 0.01,
    "method.c1": 0.25,
    "method.c2": [0.25, 0.5],
    "method.c3": [0.5, 0.75],
}


def _config(**changes: Any) -> RunConfig:
    return resolve(apply_changes(load_recipe("countdown-quick").explicit, SETTINGS | changes)).config


@pytest.fixture(scope="module")
def task() -> Task:
    return build_task(_config().task)


@pytest.fixture(scope="module")
def engine(task: Task) -> Iterator[Any]:
    from bapo.engines import build_engine  # noqa: PLC0415

    engine = build_engine(_config(), task)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def groups(engine: Any, task: Task) -> Sequence[RolloutGroup]:
    """Generated before an update, so that ratios are not 1."""
    generation = engine.generate(
        task.train[:NUM_PROBLEMS], group_size=GROUP_SIZE, policy=Policy.ROLLOUT, step=1, purpose="old"
    )
    engine.update([BatchItem(group, BatchSource.FRESH) for group in generation.groups], step=1)
    return generation.groups


def test_the_gradient_is_that_of_one_process(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    batch = [BatchItem(group, BatchSource.REUSED) for group in groups]
    local = _config(**{"engine.type": "local", "engine.verl.gpus_per_node": 1})
    assert assert_equal_updates(engine, batch, local, tmp_path).ratio_max > 1.05


def test_rows_that_cannot_be_halved_count_once(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    # 4 + 3 rows: the row that fills the batch up must not train.
    batch = [BatchItem(groups[0], BatchSource.REUSED), BatchItem(groups[1], BatchSource.REUSED, (0, 1, 3))]
    batch += [BatchItem(group, BatchSource.REUSED) for group in groups[2:4]]
    local = _config(**{"engine.type": "local", "engine.verl.gpus_per_node": 1})
    assert_equal_updates(engine, batch, local, tmp_path)


def test_both_processes_go_on_from_a_checkpoint(engine: Any, groups: Sequence[RolloutGroup], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    engine.save(tmp_path / "kept", groups[:2])
    batch = [BatchItem(group, BatchSource.REUSED) for group in groups[2:]]
    first = engine.update(batch, step=3)
    engine.load(tmp_path / "kept")
    again = engine.update(batch, step=3)
    assert again.loss == pytest.approx(first.loss, abs=1e-6)
    assert again.grad_norm == pytest.approx(first.grad_norm, rel=1e-5)
