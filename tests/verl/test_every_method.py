"""Every method without a critic trains on verl, stops and resumes; those with one: `test_critic.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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


def _trained_sources(record: StepRecord) -> set[BatchSource]:
    return {visit.source for visit in record.prompts if visit.in_batch}


def _train(engine: Any, before: Path, name: str, folder: Path) -> list[StepRecord]:
    # So that no method trains on what others left of the model.
    engine.load(before)
    config = of_method(name)
    records = train_on(engine, config, folder)
    assert_it_trained(records, config, folder)
    return records


@pytest.mark.core
def test_bapo_trains_on_fresh_reevaluated_and_reused_groups(verl_engine: Any, before: Path, tmp_path: Path) -> None:
    records = _train(verl_engine, before, "bapo", tmp_path / "run")
    assert set.union(*map(_trained_sources, records)) == set(BatchSource)
    # The first step has nothing to reuse; after the resume there is what the checkpoint has kept.
    assert _trained_sources(records[0]) == {BatchSource.FRESH}
    print([_trained_sources(r) for r in records], [r.counts for r in records])


@pytest.mark.parametrize(
    "name", [name for name, each in METHODS.classes.items() if not each.has_critic and name != "bapo"]
)
def test_a_method_trains_stops_and_resumes(verl_engine: Any, before: Path, name: str, tmp_path: Path) -> None:
    _train(verl_engine, before, name, tmp_path / "run")
