"""Configs of whole runs that take seconds at most, and what such runs recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bapo.config import RunConfig, apply_changes, resolve
from bapo.records import AnyRecord, EventRecord, StepRecord, comparable
from bapo.run.journal import RECORDS_FILE, attempt_folders, merged_records, read_records
from bapo.run.trainer import TrainingSummary

OF_ANY_METHOD = {
    "task.num_train": 48,
    "task.num_test": 8,
    "rollout.batch_size": 12,
    "rollout.group_size": 4,
    "training.batch_size": 12,
    "training.steps": 8,
    "training.mini_batch_size": 5,
    "training.checkpoint_interval": 3,
    "tracking.num_prompts": 8,
    "tracking.interval": 4,
    "evaluation.interval": 4,
    "evaluation.num_samples": 2,
}
OF_BAPO = {"method.v": 3, "method.m": 2, "method.c2": ["0", "0"], "method.c3": ["1/2", "3/4"]}


def config_of(*settings: Mapping[str, Any]) -> RunConfig:
    """The config with these fields."""
    return resolve(apply_changes({}, {field: value for part in settings for field, value in part.items()})).config


def config(**changes: Any) -> RunConfig:
    """A run of BAPO; `method__v=2` changes the field `method.v`."""
    return config_of(OF_ANY_METHOD, OF_BAPO, {name.replace("__", "."): value for name, value in changes.items()})


class _StopAfter:
    def __init__(self, step: int) -> None:
        self.step = step
        self.stop = threading.Event()

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, StepRecord) and record.step >= self.step:
            self.stop.set()


def train_until(
    step: int, run_folder: Path, settings: RunConfig, train: Callable[..., TrainingSummary]
) -> TrainingSummary:
    """Train, and ask for a stop once a step has been recorded; `train` chooses the engine."""
    stopping = _StopAfter(step)
    return train(run_folder, settings, observer=stopping, stop=stopping.stop)


def steps_of(run_folder: Path) -> list[StepRecord]:
    """The training steps."""
    return [record for record in merged_records(run_folder) if isinstance(record, StepRecord)]


def lines(run_folder: Path, *, after: int = -1) -> list[dict[str, Any]]:
    """What must be equal between equal runs, of the steps after one."""
    found = [record for record in merged_records(run_folder) if not isinstance(record, EventRecord)]
    return [comparable(record) for record in found if record.step > after]


def events(run_folder: Path, kind: str | None = None) -> list[EventRecord]:
    """The events of all attempts, or those of a kind."""
    return [
        record
        for folder in attempt_folders(run_folder)
        for record in read_records(folder / RECORDS_FILE)
        if isinstance(record, EventRecord) and kind in (None, record.event)
    ]
