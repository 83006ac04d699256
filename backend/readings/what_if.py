"""Replays a stored run under changed settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from backend.kit.response_cache import revisions
from backend.kit.revision_cache import RevisionCache
from backend.models import Run
from backend.readings.run_reading import RunReading
from backend.records import series
from backend.records.curves import extreme_rows
from backend.records.repository import StepRange
from backend.runs.repository import applied_changes
from bapo.analysis.visits import Visits
from bapo.analysis.what_if.answer import Band, ForecastBatches, RecordedBatches, WhatIfAnswer
from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import BufferSizes, ParameterChange, Recording
from bapo.api.readings import WhatIfRequest
from bapo.config import RunConfig

SIZE_KEYS = ("bapo/buffer/difficult/size", "bapo/buffer/high_quality/size")


class RecordingCache(RevisionCache[str, Recording]):
    """Recordings of the runs replayed last; one of 471 steps with 256 prompts takes some 20 MB."""

    def __init__(self) -> None:
        super().__init__(max_size=6)


def answer(reading: RunReading, request: WhatIfRequest) -> WhatIfAnswer:
    """Replay all that the run has recorded by now. Raises ConfigError for what is not legal or cannot be replayed."""
    session, run = reading.session, reading.run
    recording = reading.context.part(RecordingCache).get(
        run.id,
        lambda: revisions(session, [run.id]),
        lambda _: _recording(session, run, reading.visits),
    )
    found = what_if(recording, request.set, draws=request.draws)
    return found if request.max_points is None else thinned(found, request.max_points)


def _recording(session: Session, run: Run, visits: Visits) -> Recording:
    num_steps = int(visits.step[-1]) if len(visits.step) else 0
    columns = series.read_training(session, run.id, SIZE_KEYS, StepRange(1, max(1, num_steps)))
    sizes = []
    for key in SIZE_KEYS:
        by_step = np.full(num_steps + 1, np.nan)
        by_step[columns.steps] = columns.values[key]
        sizes.append([None if math.isnan(size) else size for size in by_step[1:].tolist()])
    changes = [ParameterChange(change.step, change.set) for change in applied_changes(session, [run.id])[run.id]]
    return Recording(visits, RunConfig.model_validate(run.config), changes, BufferSizes(*sizes))


def thinned(whole: WhatIfAnswer, max_points: int) -> WhatIfAnswer:
    """Return about `max_points` steps at most, with the extremes of the batches' contents."""
    num_steps = len(whole.steps)
    if num_steps <= max_points:
        return whole
    recorded, forecast = whole.recorded, whole.forecast
    shown = (recorded.x2, recorded.fill_rate, forecast.x2.mean, forecast.fill_rate.mean)
    columns = [np.array(column, np.float64) for column in shown]
    rows = [int(row) for row in extreme_rows(columns, num_steps, max_points)]

    def of(column: Sequence[Any]) -> list[Any]:
        return [column[row] for row in rows]

    def band(whole_band: Band) -> Band:
        return Band(**{name: of(getattr(whole_band, name)) for name in Band.model_fields})

    thin = {name: getattr(forecast, name) for name in ForecastBatches.model_fields}
    return whole.model_copy(
        update={
            "steps": of(whole.steps),
            "sampled": f"min-max; {len(rows)} of {num_steps} steps",
            "recorded": RecordedBatches(**{name: of(getattr(recorded, name)) for name in RecordedBatches.model_fields}),
            "forecast": ForecastBatches(
                **{name: band(column) if isinstance(column, Band) else of(column) for name, column in thin.items()}
            ),
        }
    )
