"""Every method without a critic trains on verl, stops and resumes; those with one: `test_critic.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.config.method import METHODS
from tests.verl.short_runs import assert_it_trained, of_method, train_on


@pytest.fixture(scope="module")
def before(verl_engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The engine as the first of these tests finds it."""
    folder = tmp_path_factory.mktemp("before")
    verl_engine.save(folder, ())
    return folder


@pytest.mark.parametrize("name", [name for name, each in METHODS.classes.items() if not each.has_critic])
def test_a_method_trains_stops_and_resumes(verl_engine: Any, before: Path, name: str, tmp_path: Path) -> None:
    # So that no method trains on what others left of the model.
    verl_engine.load(before)
    config = of_method(name)
    assert_it_trained(train_on(verl_engine, config, tmp_path / "run"), config, tmp_path / "run")
