"""Runs of four small steps on an engine that tests share: two steps, a stop, a resume from the checkpoint, two more."""

from __future__ import annotations

import gc
from math import isfinite
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bapo.config import RunConfig, apply_changes, resolve
from bapo.config.method import METHODS
from bapo.config.recipes import load_recipe
from bapo.records import StepRecord
from bapo.run.control import ControlRequest, append_request
from bapo.run.journal import merged_records
from bapo.run.trainer import train
from tests.verl.comparing import configured
from tests.verl.replaying import decisions, replayed_decisions

NUM_STEPS, STOPPED_AFTER = 4, 2
BATCH_SIZE, GROUP_SIZE = 8, 4


def of_method(name: str) -> RunConfig:
    """A run of four small steps, with every part of the method that it can have in so few."""
    short = {"v": 2, "m": 2, "c1": 0.25, "c2": [0.25, 0.5], "c3": [0.5, 0.75]}
    fields = METHODS.classes[name].model_fields
    changes = {
        **{f"method.{field}": value for field, value in short.items() if field in fields},
        "engine.type": "verl",
        "method.type": name,
        "training.steps": NUM_STEPS,
        "training.batch_size": BATCH_SIZE,
        "training.checkpoint_interval": 100,
        "rollout.batch_size": BATCH_SIZE,
        "rollout.group_size": GROUP_SIZE,
        "task.num_train": 24,
        "tracking.num_prompts": 0,
        "evaluation.enabled": False,
    }
    return resolve(apply_changes(load_recipe("countdown-quick").explicit, changes)).config


def train_on(engine: Any, config: RunConfig, folder: Path) -> list[StepRecord]:
    """Trains in two attempts on an engine that stays; the steps' records."""
    folder.mkdir()
    append_request(folder, ControlRequest(id="a", author="test", at_step=STOPPED_AFTER + 1, stop=True))
    # The engine takes a minute to start, and is the same for all.
    with configured(engine, config), patch.object(engine, "close", lambda: None):
        stopped = train(folder, config, build=lambda *_: engine)
        # In a trainer this happens by its end: nothing of the first attempt may free rows that the second reads back.
        gc.collect()
        engine._free_released_rows()
        ended = train(folder, config, build=lambda *_: engine)
    assert (stopped.status, stopped.steps) == ("stopped", STOPPED_AFTER)
    assert (ended.status, ended.steps) == ("succeeded", NUM_STEPS)
    return [record for record in merged_records(folder) if isinstance(record, StepRecord)]


def assert_it_trained(records: list[StepRecord], config: RunConfig, folder: Path) -> None:
    """Each step was recorded once, is what the library decides, and moved the weights by a finite gradient."""
    assert [record.step for record in records] == list(range(1, NUM_STEPS + 1))
    replayed = replayed_decisions(folder, config)
    for record in records:
        assert decisions(record) == replayed[record.step], record.step
        if config.method.is_on_policy:
            assert record.rollout_version == record.step - 1
        if record.update is not None:
            assert isfinite(record.update.loss)
            assert isfinite(record.update.grad_norm)
    assert any(record.update is not None and record.update.grad_norm > 0 for record in records)
