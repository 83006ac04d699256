"""The engine of tests of control flow notices what a resumed run has lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.simulated_engine import GROUPS_FILE, STATE_FILE, SimulatedEngine
from tests.support.simulated_trainer import train
from tests.support.small_runs import config, lines, train_until


def without(*fields: str) -> Callable[[Path], None]:
    """Puts the engine's fields back to where they were before training."""

    def lose(checkpoint: Path) -> None:
        state = json.loads((checkpoint / STATE_FILE).read_text())
        (checkpoint / STATE_FILE).write_text(json.dumps(state | dict.fromkeys(fields, "untrained")))

    return lose


def with_groups_in_another_order(checkpoint: Path) -> None:
    payloads = json.loads((checkpoint / GROUPS_FILE).read_text())
    assert len(payloads) > 1
    (checkpoint / GROUPS_FILE).write_text(json.dumps(payloads[::-1]))


@pytest.mark.parametrize(
    ("lose", "is_noticed"),
    [
        (without(), False),
        (without("weights"), True),
        (without("rollout_weights"), True),
        (with_groups_in_another_order, True),
    ],
    ids=["nothing", "weights", "rollout weights", "order of groups"],
)
def test_a_resumed_run_differs_where_something_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None], is_noticed: bool
) -> None:
    train(tmp_path / "undisturbed", config())
    train_until(4, tmp_path / "resumed", config(), train)
    load = SimulatedEngine.load

    def damaged(engine: SimulatedEngine, folder: Path) -> Any:
        # After the checksums were compared.
        lose(folder)
        return load(engine, folder)

    monkeypatch.setattr(SimulatedEngine, "load", damaged)
    train(tmp_path / "resumed", config())
    assert (lines(tmp_path / "resumed") != lines(tmp_path / "undisturbed")) is is_noticed
