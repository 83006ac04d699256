"""What a run page asks the API for, in as few requests as its charts need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from bapo.api import HistogramSeries, RunDetail, Series
from bapo.client import AsyncClient
from bapo.records import EventRecord, TrackingRecord
from frontend.figures.axes import X_KEYS, XAxis, XKind, x_axis
from frontend.figures.evaluations import KEY_PATTERN
from frontend.figures.marks import Mark, marks_of

Need = Literal["histograms", "evaluations", "tracking"]

MOST_POINTS = 1000
"""Steps that a chart draws at most; the server keeps each metric's extremes when it leaves steps out."""

_TRACKING = TypeAdapter(list[TrackingRecord])
_EVENTS = TypeAdapter(list[EventRecord])
NO_SERIES = Series(steps=[], columns={})


@dataclass(frozen=True, slots=True)
class RunData:
    """A run as its charts see it."""

    run: RunDetail
    axis: XAxis
    series: Series
    histograms: HistogramSeries | None
    evaluations: Series
    tracking: Sequence[TrackingRecord]
    marks: Sequence[Mark]

    @property
    def group_size(self) -> int:
        """G."""
        return int(self.run.config["rollout"]["group_size"])

    @property
    def num_left_out(self) -> int:
        """Steps that the run completed and the charts do not show."""
        return max(0, self.run.step - len(self.series.steps)) if self.series.steps else 0


async def load(
    client: AsyncClient,
    run: RunDetail,
    *,
    keys: Iterable[str],
    needs: Iterable[Need],
    x_kind: XKind,
    from_step: int | None = None,
) -> RunData:
    """Everything for the charts, fetched at once: the whole run with its marks, or the steps from one on."""
    wanted = sorted({*keys, *X_KEYS[x_kind]})
    needed = frozenset(needs)
    whole = from_step is None
    first = 1 if from_step is None else from_step
    if run.step == 0:
        needed -= {"histograms"}
    series, histograms, evaluations, tracking, events = await asyncio.gather(
        _series(client, run, wanted, first),
        client.histograms(run.id, from_step=first, to_step=run.step, max_points=MOST_POINTS)
        if "histograms" in needed
        else _nothing(None),
        _evaluations(client, run) if "evaluations" in needed else _nothing(NO_SERIES),
        _records(client, run, "tracking") if "tracking" in needed else _nothing([]),
        _records(client, run, "event") if whole else _nothing([]),
    )
    return RunData(
        run=run,
        axis=x_axis(series, x_kind, run.started_at),
        series=series,
        histograms=histograms,
        evaluations=evaluations,
        tracking=_TRACKING.validate_python(tracking),
        marks=marks_of(_EVENTS.validate_python(events)),
    )


async def _nothing(value: Any) -> Any:
    return value


async def _series(client: AsyncClient, run: RunDetail, keys: Sequence[str], from_step: int) -> Series:
    if run.step == 0:
        return NO_SERIES
    # Some key is needed for there to be steps.
    asked = keys or ("training/global_step",)
    # Nothing after the step that the run's row tells: all requests of one drawing must see the same steps.
    return await client.metrics(run.id, asked, from_step=from_step, to_step=run.step, max_points=MOST_POINTS)


async def _evaluations(client: AsyncClient, run: RunDetail) -> Series:
    known = await client.metric_keys(run.id)
    keys = [key for key in known.items if KEY_PATTERN.fullmatch(key)]
    return await client.metrics(run.id, keys, from_step=0) if keys else NO_SERIES


async def _records(client: AsyncClient, run: RunDetail, kind: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.records(run.id, type=kind, cursor=cursor)
        records += page.items
        cursor = page.next_cursor
        if cursor is None:
            return records
