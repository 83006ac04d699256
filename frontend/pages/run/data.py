"""What a run page asks the API for, in as few requests as its charts need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from bapo.api import HistogramSeries, RunDetail, Series
from bapo.client import AsyncClient
from bapo.records import EventRecord, TrackingRecord
from frontend.figures import reevaluation
from frontend.figures.axes import X_KEYS, XAxis, XKind, x_axis
from frontend.figures.evaluations import KEY_PATTERN
from frontend.figures.marks import Mark, marks_of

Need = Literal["histograms", "evaluations", "tracking", "totals"]

MOST_POINTS = 1000
"""Steps that a chart draws at most; the server keeps each metric's extremes when it leaves steps out."""

_TRACKING = TypeAdapter(list[TrackingRecord])
_EVENTS = TypeAdapter(list[EventRecord])
NO_SERIES = Series(steps=[], columns={})
NO_HISTOGRAMS = HistogramSeries(steps=[], fresh=[], reevaluated=[], batch=[])


class RunData(NamedTuple):
    """A run, or its newest steps, as the charts see it."""

    run: RunDetail
    axis: XAxis
    series: Series
    histograms: HistogramSeries = NO_HISTOGRAMS
    evaluations: Series = NO_SERIES
    tracking: Sequence[TrackingRecord] = ()
    totals: Series = NO_SERIES
    """Counts that are summed, of every step."""
    marks: Sequence[Mark] = ()

    @property
    def group_size(self) -> int:
        """G."""
        return int(self.run.config["rollout"]["group_size"])

    @property
    def num_left_out(self) -> int:
        """Steps that the run completed and the charts do not show."""
        return max(0, self.run.step - len(self.series.steps)) if self.series.steps else 0


async def load(
    client: AsyncClient, run_id: str, *, keys: Iterable[str], needs: Iterable[Need], x_kind: XKind
) -> RunData:
    """The whole run, for drawing its charts; everything is fetched at once."""
    needed = frozenset(needs)
    run, series, histograms, evaluations, tracking, totals, events = await _together(
        client.run(run_id),
        client.metrics(run_id, _wanted(keys, x_kind), from_step=1, max_points=MOST_POINTS),
        client.histograms(run_id, from_step=1, max_points=MOST_POINTS) if "histograms" in needed else None,
        _evaluations(client, run_id) if "evaluations" in needed else None,
        _records(client, run_id, "tracking") if "tracking" in needed else None,
        client.metrics(run_id, reevaluation.KEYS, from_step=1) if "totals" in needed else None,
        _records(client, run_id, "event"),
    )
    return RunData(
        run=run,
        axis=x_axis(series, x_kind, run.started_at),
        series=series,
        histograms=histograms or NO_HISTOGRAMS,
        evaluations=evaluations or NO_SERIES,
        tracking=_TRACKING.validate_python(tracking or []),
        totals=totals or NO_SERIES,
        marks=marks_of(_EVENTS.validate_python(events)),
    )


async def load_newest(
    client: AsyncClient, run_id: str, *, keys: Iterable[str], needs: Iterable[Need], x_kind: XKind, from_step: int
) -> RunData:
    """The steps from one on, for appending; metrics and histograms hold the same steps."""
    needed = frozenset(needs)
    run, series, histograms, totals = await _together(
        client.run(run_id),
        client.metrics(run_id, _wanted(keys, x_kind), from_step=from_step),
        client.histograms(run_id, from_step=from_step) if "histograms" in needed else None,
        client.metrics(run_id, reevaluation.KEYS, from_step=1) if "totals" in needed else None,
    )
    if histograms is not None:
        # A step may have arrived between the two answers.
        length = min(len(series.steps), len(histograms.steps))
        series, histograms = _cut_series(series, length), _cut_histograms(histograms, length)
    return RunData(
        run=run,
        axis=x_axis(series, x_kind, run.started_at),
        series=series,
        histograms=histograms or NO_HISTOGRAMS,
        totals=totals or NO_SERIES,
    )


def _wanted(keys: Iterable[str], x_kind: XKind) -> list[str]:
    # Some key is needed for there to be steps.
    return sorted({*keys, *X_KEYS[x_kind]}) or ["training/global_step"]


async def _together(*requests: Any) -> list[Any]:
    """Await all requests at once; None stays None."""
    answers = iter(await asyncio.gather(*(request for request in requests if request is not None)))
    return [None if request is None else next(answers) for request in requests]


def _cut_series(series: Series, length: int) -> Series:
    return Series(steps=series.steps[:length], columns={key: values[:length] for key, values in series.columns.items()})


def _cut_histograms(histograms: HistogramSeries, length: int) -> HistogramSeries:
    return HistogramSeries(
        steps=histograms.steps[:length],
        fresh=histograms.fresh[:length],
        reevaluated=histograms.reevaluated[:length],
        batch=histograms.batch[:length],
    )


async def _evaluations(client: AsyncClient, run_id: str) -> Series:
    known = await client.metric_keys(run_id)
    keys = [key for key in known.items if KEY_PATTERN.fullmatch(key)]
    return await client.metrics(run_id, keys, from_step=0) if keys else NO_SERIES


async def _records(client: AsyncClient, run_id: str, kind: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.records(run_id, type=kind, cursor=cursor)
        records += page.items
        cursor = page.next_cursor
        if cursor is None:
            return records
