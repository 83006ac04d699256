"""Reads from the API what the charts of a run page need, in as few requests as possible."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from bapo.api.alerts import AlertPage
from bapo.api.records import HistogramSeries, RatioSeries, Series, SeriesGroup, StalenessSeries
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.config.sections import group_size_of
from bapo.figures import reevaluation
from bapo.figures.axes import X_KEYS, XAxis, XKind, x_axis
from bapo.figures.evaluations import KEY_PATTERN
from bapo.figures.marks import Mark, alert_marks, marks_of
from bapo.figures.smoothing import WINDOW_STEPS
from bapo.records import EventRecord, StepRecord, TrackingRecord
from bapo.report.api_runs import records_between

Need = Literal["histograms", "evaluations", "tracking", "totals", "ratios", "staleness", "newest_steps"]

MOST_POINTS = 1000
"""Steps that a chart draws at most; the server keeps each metric's extremes when it leaves steps out."""
MOST_ALERTS = 50
"""The newest ones are marked."""
MOST_COLUMNS = 400
"""Columns of a heat map; the server sums neighbouring steps beyond."""

NEWEST_STEPS = 10
"""Steps on the timeline."""

_STEPS = TypeAdapter(list[StepRecord])
_TRACKING = TypeAdapter(list[TrackingRecord])
_EVENTS = TypeAdapter(list[EventRecord])
NO_SERIES = Series(steps=[], columns={})
NO_HISTOGRAMS = HistogramSeries(steps=[], fresh=[], reevaluated=[], batch=[])
NO_RATIOS = RatioSeries(edges=[], first_steps=[], steps=[], counts=[])
NO_STALENESS = StalenessSeries(ages=[], first_steps=[], steps=[], counts={})


class RunData(NamedTuple):
    """A run, or its newest steps, as one chart sees it."""

    run: RunDetail
    axis: XAxis
    series: Series
    """The chart's own sample."""
    histograms: HistogramSeries = NO_HISTOGRAMS
    evaluations: Series = NO_SERIES
    tracking: Sequence[TrackingRecord] = ()
    totals: Series = NO_SERIES
    """Counts that are summed, of every step."""
    ratios: RatioSeries = NO_RATIOS
    staleness: StalenessSeries = NO_STALENESS
    marks: Sequence[Mark] = ()
    newest_steps: Sequence[StepRecord] = ()
    means: Series | None = None
    """The same columns smoothed, where that was asked for."""

    @property
    def group_size(self) -> int:
        """Returns G."""
        return group_size_of(self.run.config)

    @property
    def num_left_out(self) -> int:
        """Returns how many completed steps the chart does not show."""
        return max(0, self.run.step - len(self.series.steps)) if self.series.steps else 0


class Wanted(NamedTuple):
    """The data that one chart needs."""

    keys: Sequence[str]
    x_kind: XKind


class Reading(NamedTuple):
    """The data of several charts, read together."""

    charts: Mapping[str, Wanted]
    needs: frozenset[Need]
    smooth: str | None = None
    """Smoothing in the API's notation: `mean:10`; `None` for none."""
    window: tuple[int, int] | None = None
    """Steps whose counts are summed; all where None."""


async def load(
    client: AsyncClient, run: RunDetail, reading: Reading, alerts: AlertPage | None = None
) -> dict[str, RunData]:
    """Return all steps of a run, for drawing its charts, by chart; fetched at once, its alerts too where not known."""
    run_id = run.id
    requests = _summed(client, run_id, reading)
    if alerts is None:
        requests["alerts"] = newest_alerts(client, run_id)
    if "histograms" in reading.needs:
        requests["histograms"] = client.histograms(run_id, from_step=1, max_points=MOST_POINTS)
    if "evaluations" in reading.needs:
        requests["evaluations"] = _evaluations(client, run_id)
    if "tracking" in reading.needs:
        requests["tracking"] = records_between(client, run_id, "tracking")
    if "newest_steps" in reading.needs:
        requests["newest_steps"] = records_between(
            client, run_id, "step", from_step=max(1, run.step + 1 - NEWEST_STEPS)
        )
    groups, events, *answers = await asyncio.gather(
        _groups(client, run_id, reading, from_step=1, max_points=MOST_POINTS),
        records_between(client, run_id, "event"),
        *requests.values(),
    )
    shared = {"run": run, "alerts": alerts, **dict(zip(requests, answers, strict=True))}
    shared["tracking"] = _TRACKING.validate_python(shared.get("tracking", ()))
    shared["newest_steps"] = _STEPS.validate_python(shared.get("newest_steps", ()))
    shared["marks"] = [*marks_of(_EVENTS.validate_python(events)), *alert_marks(shared.pop("alerts").items)]
    return _by_chart(reading, groups, shared)


async def newest_alerts(client: AsyncClient, run_id: str) -> AlertPage:
    """Return the events that charts mark."""
    return await client.run_alerts(run_id, limit=MOST_ALERTS)


async def load_newest(client: AsyncClient, run_id: str, reading: Reading, from_step: int) -> dict[str, RunData]:
    """Return the steps from one on, for appending; metrics and histograms end with the same step."""
    requests = _summed(client, run_id, reading)
    if "histograms" in reading.needs:
        # Moving means need the steps before the new ones.
        requests["histograms"] = client.histograms(run_id, from_step=max(1, from_step + 1 - WINDOW_STEPS))
    requests["run"] = client.run(run_id)
    groups, *answers = await asyncio.gather(_groups(client, run_id, reading, from_step=from_step), *requests.values())
    shared = dict(zip(requests, answers, strict=True))
    histograms = shared.get("histograms")
    if histograms is not None and groups and groups[0].steps:
        # A step may have arrived between the two answers.
        last = min(groups[0].steps[-1], histograms.steps[-1] if histograms.steps else 0)
        groups = [_cut_group(group, sum(step <= last for step in group.steps)) for group in groups]
        shared["histograms"] = _cut_histograms(histograms, sum(step <= last for step in histograms.steps))
    return _by_chart(reading, groups, shared)


def _summed(client: AsyncClient, run_id: str, reading: Reading) -> dict[str, Awaitable[Any]]:
    """Return the sums over the run, or over its columns; they are reloaded whenever there are new steps."""
    first, last = reading.window or (1, None)
    requests: dict[Need, Callable[[], Awaitable[Any]]] = {
        "totals": lambda: client.metrics(run_id, reevaluation.KEYS, from_step=first, to_step=last),
        "ratios": lambda: client.ratios(run_id, max_points=MOST_COLUMNS),
        "staleness": lambda: client.staleness(run_id, max_points=MOST_COLUMNS),
    }
    return {need: request() for need, request in requests.items() if need in reading.needs}


def _by_chart(reading: Reading, groups: Sequence[SeriesGroup], shared: Mapping[str, Any]) -> dict[str, RunData]:
    answer = {}
    for (name, wanted), group in zip(reading.charts.items(), groups, strict=True):
        series = Series(steps=group.steps, columns=group.columns)
        means = Series(steps=group.steps, columns={**group.columns, **group.smoothed}) if group.smoothed else None
        axis = x_axis(series, wanted.x_kind, shared["run"].started_at)
        answer[name] = RunData(axis=axis, series=series, means=means, **shared)
    return answer


async def _groups(
    client: AsyncClient, run_id: str, reading: Reading, *, from_step: int, max_points: int | None = None
) -> Sequence[SeriesGroup]:
    along = sorted({key for wanted in reading.charts.values() for key in X_KEYS[wanted.x_kind]})
    answer = await client.metric_groups(
        run_id,
        [wanted.keys for wanted in reading.charts.values()],
        along=along,
        from_step=from_step,
        max_points=max_points,
        smooth=reading.smooth,
    )
    return answer.groups


def _cut_group(group: SeriesGroup, length: int) -> SeriesGroup:
    if length == len(group.steps):
        return group
    return group.model_copy(
        update={
            "steps": group.steps[:length],
            "columns": {key: values[:length] for key, values in group.columns.items()},
            "smoothed": {key: values[:length] for key, values in group.smoothed.items()},
        }
    )


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
