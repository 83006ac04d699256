"""Gathers what a walk needs from what a run has recorded, wherever that is kept."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.result import AppliedChange
from bapo.analysis.steered import config_in_force
from bapo.analysis.visits import Visits, visits_of
from bapo.analysis.walk.answer import StepWalk
from bapo.analysis.walk.before import (
    MOST_STEPS_BACK,
    DifficultEntry,
    History,
    difficult_before,
    earlier_evaluations,
    stored_before,
)
from bapo.analysis.walk.other import Before
from bapo.analysis.walk.thresholds import Wanted
from bapo.analysis.walk.walk import Known, Listing, Places, can_change, walk
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.methods.bapo import BapoConfig
from bapo.records import EventRecord, StepRecord
from bapo.rollout import BatchSource
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config


class DifficultColumns(NamedTuple):
    """Figures on the difficult buffer by step; NaN where a step has none."""

    steps: NDArray[np.int64]
    most_correct: NDArray[np.float64]
    """Largest number of correct responses that counts as difficult."""
    size: NDArray[np.float64]
    """Prompts in the buffer after the step."""


class Recorded(Protocol):
    """A run's records; each question is asked only where a walk needs the answer."""

    def steps(self, first: int, last: int) -> Sequence[StepRecord]:
        """Return the records of a range of steps, both ends included, in order."""

    def visits(self) -> Visits:
        """Return every visit of the run's prompts."""

    def difficult(self, last: int) -> DifficultColumns:
        """Return the difficult buffer over the steps up to this one."""


def walk_of(
    source: Recorded,
    config: RunConfig,
    changes: Iterable[AppliedChange],
    places: Places,
    step: int,
    wanted: Wanted,
    listing: Listing,
) -> StepWalk:
    """Return the step, line by line; `config` is what the run was submitted with. Raises ConfigError as `walk` does."""
    in_force = config_at(config, changes, step)
    method = in_force.method.as_bapo()
    if not isinstance(method, BapoConfig):
        (record,) = source.steps(step, step)
        return walk(record, in_force, places, Known(), wanted, listing)
    age = method.high_quality_buffer.max_age_steps
    *window, record = source.steps(step if age > MOST_STEPS_BACK else max(1, step - age), step)
    stored = stored_before(window, step, method)
    asked = [visit.prompt_id for visit in record.prompts if visit.source == BatchSource.REEVALUATED]
    earlier = earlier_evaluations(source.visits(), step, asked) if asked else {}
    before = None
    if stored is not None and not wanted.is_empty and can_change(in_force, record):
        before = Before(_difficult(source, step), stored)
    return walk(record, in_force, places, Known(stored, earlier, before), wanted, listing)


def config_at(config: RunConfig, changes: Iterable[AppliedChange], step: int) -> RunConfig:
    """Return the config in force in a step."""
    applied = [change for change in changes if change.step <= step]
    if not applied:
        return config
    return RunConfig.model_validate(config_in_force(config.model_dump(mode="json"), applied))


def _difficult(source: Recorded, step: int) -> Sequence[DifficultEntry]:
    columns = source.difficult(step - 1)
    size = columns.size[-1] if len(columns.size) else 0
    if not size > 0:
        # Also where the step before has no such buffer: the run was another method's until then.
        return ()
    return difficult_before(History(source.visits(), columns.steps, columns.most_correct, int(size)), step)


def places_of(steps: Sequence[int], step: int) -> Places:
    """Return the position of a step among all recorded ones, which are in order."""
    index = bisect_left(steps, step)
    return Places(
        steps[0],
        steps[-1],
        steps[index - 1] if index else None,
        steps[index + 1] if index + 1 < len(steps) else None,
    )


class Folder:
    """The records of a run folder."""

    def __init__(self, records: Sequence[StepRecord], group_size: int) -> None:
        self._records: Mapping[int, StepRecord] = {record.step: record for record in records}
        self._group_size = group_size

    def steps(self, first: int, last: int) -> Sequence[StepRecord]:
        return [record for step, record in self._records.items() if first <= step <= last]

    @cached_property
    def _visits(self) -> Visits:
        return visits_of(self._records.values(), self._group_size)

    def visits(self) -> Visits:
        return self._visits

    def difficult(self, last: int) -> DifficultColumns:
        records = self.steps(1, last)
        most = [record.thresholds and record.thresholds.difficult_max_count for record in records]
        sizes = [record.difficult_buffer and record.difficult_buffer.size for record in records]
        return DifficultColumns(
            np.array([record.step for record in records], np.int64),
            np.array(most, np.float64),
            np.array(sizes, np.float64),
        )


def read_walk(run_folder: Path, step: int | None, wanted: Wanted, listing: Listing) -> StepWalk:
    """Return a step of the run in a folder, the newest where none is named.

    Raises ConfigError where the folder holds no run, no such step, or the thresholds are not legal.
    """
    config = read_config(run_folder)
    records, changes = [], {}
    for record in merged_records(run_folder):
        if isinstance(record, StepRecord):
            records.append(record)
        elif isinstance(record, EventRecord) and record.event == "parameter_change":
            # A later attempt repeats the answers that the one before it gave after the checkpoint.
            data = record.data
            changes[data["id"]] = AppliedChange(step=data["applied_step"], set=data["set"], author=data["author"])
    numbers = [record.step for record in records]
    number = recorded_step(numbers, step)
    in_order = sorted(changes.values(), key=lambda change: change.step)
    source = Folder(records, config.rollout.group_size)
    return walk_of(source, config, in_order, places_of(numbers, number), number, wanted, listing)


def recorded_step(steps: Sequence[int], wanted: int | None) -> int:
    """Return the step, or the newest where none is wanted. Raises ConfigError where it is not recorded."""
    if not steps:
        raise ConfigError([ConfigProblem("step", wanted, "the run has recorded no step yet")])
    if wanted is None:
        return steps[-1]
    index = bisect_left(steps, wanted)
    if index < len(steps) and steps[index] == wanted:
        return wanted
    nearest = [f"{steps[place]:,}" for place in (index - 1, index) if 0 <= place < len(steps)]
    remedy = f"this step is not recorded; the nearest {'are' if nearest[1:] else 'is'} {' and '.join(nearest)}"
    raise ConfigError([ConfigProblem("step", wanted, remedy)])
