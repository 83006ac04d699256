"""Every method without a critic trains on verl, stops and resumes; those with one: `test_critic.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.config import RunConfig
from bapo.config.method import METHODS
from bapo.records import StepRecord
from bapo.rollout import BatchSource
from tests.verl.short_runs import assert_it_trained, of_method, train_on


@pytest.fixture(scope="module")
def before(verl_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine as the first of these tests finds it."""
    folder = tmp_path_factory.mktemp("before")
    verl_engine.save(folder, ())
    return folder


MANY_REEVALUATED = {
    "method.difficult_buffer.capacity": 96,
    "rollout.batch_size": 32,
    "training.batch_size": 32,
    "task.num_train": 96,
}
"""So many difficult prompts are answered again that some improve: a fourth of those with one right answer of four."""


def _train(engine: Any, before: Path, config: RunConfig, folder: Path) -> list[StepRecord]:
    # So that no method trains on what others left of the model.
    engine.load(before)
    records = train_on(engine, config, folder)
    assert_it_trained(records, config, folder)
    return records


@pytest.mark.core
def test_bapo_trains_on_fresh_reevaluated_and_reused_groups(verl_engine: Any, before: Path, tmp_path: Path) -> None:
    records = _train(verl_engine, before, of_method("bapo", **MANY_REEVALUATED), tmp_path / "run")
    sources = [{visit.source for visit in record.prompts if visit.in_batch} for record in records]
    assert sources[0] == {BatchSource.FRESH}
    assert set.union(*sources) == set(BatchSource)


WITHOUT_CRITIC = [name for name, each in METHODS.classes.items() if not each.has_critic]


def test_luffy_and_relift_learn_from_worked_solutions(verl_engine: Any, before: Path, tmp_path: Path) -> None:
    for step in _train(verl_engine, before, of_method("luffy"), tmp_path / "luffy"):
        assert step.update is not None
        assert step.update.demonstrations is not None
        assert step.update.demonstrations.num_responses == step.counts.batch
    config = of_method("relift", **{"method.supervised_batch_size": 2})
    steps = _train(verl_engine, before, config, tmp_path / "relift")
    assert any(step.supervised is not None and step.supervised.grad_norm > 0 for step in steps)


LEARNING_FROM_SOLUTIONS = [name for name, each in METHODS.classes.items() if each.needs_demonstrations]


@pytest.mark.parametrize("name", [name for name in WITHOUT_CRITIC if name not in ("bapo", *LEARNING_FROM_SOLUTIONS)])
def test_a_method_trains_stops_and_resumes(verl_engine: Any, before: Path, name: str, tmp_path: Path) -> None:
    _train(verl_engine, before, of_method(name), tmp_path / "run")
