"""A step, walked line by line next to its method's rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.readings.run_reading import RunReading
from backend.readings.samples.repository import beginnings
from backend.records import repository as records
from backend.records import series
from backend.records.repository import StepRange
from backend.runs.repository import applied_changes
from bapo.analysis.visits import Visits
from bapo.analysis.walk.answer import StepWalk
from bapo.analysis.walk.recorded import DifficultColumns, places_of, recorded_step, walk_of
from bapo.analysis.walk.thresholds import Wanted
from bapo.analysis.walk.walk import Listing
from bapo.api.readings import WalkRequest
from bapo.config import RunConfig
from bapo.records import StepRecord

MOST_CORRECT = "bapo/thresholds/difficult_max_count"
SIZE = "bapo/buffer/difficult/size"
BEGINNING_LETTERS = 200
"""Characters of a listed prompt's text."""


@dataclass(frozen=True)
class _Stored:
    """The stored records of a run."""

    reading: RunReading

    def steps(self, first: int, last: int) -> Sequence[StepRecord]:
        found = records.step_records(
            self.reading.session, self.reading.run_id, StepRange(first, last), None, last - first + 1
        )
        return [StepRecord.model_validate(each.record) for each in found]

    def visits(self) -> Visits:
        return self.reading.visits

    def difficult(self, last: int) -> DifficultColumns:
        if not last:
            nothing = np.empty(0)
            return DifficultColumns(nothing.astype(np.int64), nothing, nothing)
        columns = series.read_training(
            self.reading.session, self.reading.run_id, (MOST_CORRECT, SIZE), StepRange(1, last)
        )
        return DifficultColumns(columns.steps, columns.values[MOST_CORRECT], columns.values[SIZE])


def walk(reading: RunReading, request: WalkRequest) -> StepWalk:
    """Return the step, with the beginnings of the listed prompts' texts. Raises ConfigError if it cannot be walked."""
    session, run = reading.session, reading.run
    steps = records.recorded_steps(session, run.id)
    step = recorded_step(steps, request.step)
    found = walk_of(
        _Stored(reading),
        RunConfig.model_validate(run.config),
        applied_changes(session, [run.id])[run.id],
        places_of(steps, step),
        step,
        Wanted(request.c1, request.c2, request.c3),
        Listing(request.limit, request.offset, request.line, request.outcome),
    )
    listed = {group.prompt_id for line in found.lines for outcome in line.outcomes for group in outcome.groups}
    return found.model_copy(update={"texts": beginnings(session, run.id, sorted(listed), BEGINNING_LETTERS)})
