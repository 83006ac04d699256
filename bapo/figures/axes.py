"""Axes of charts: steps, wall time or rollouts of a run, and the accuracies of a group."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series

XKind = Literal["step", "time", "rollouts"]
X_KINDS: tuple[XKind, ...] = ("step", "time", "rollouts")

TIME_KEY = "timing_s/unix_time"
ROLLOUTS_KEY = "bapo/cost/num_rollouts"
X_KEYS: dict[XKind, tuple[str, ...]] = {"step": (), "time": (TIME_KEY,), "rollouts": (ROLLOUTS_KEY,)}
"""Metrics that an axis needs."""

FIRST_VIEW_STEPS = 10
"""Number of steps that a chart shows before there is a step."""

_TITLES: dict[XKind, str] = {"step": "step", "time": "wall time (UTC)", "rollouts": "rollouts so far"}


class XAxis(NamedTuple):
    """Maps steps to positions on the x axis: steps, rollouts or time."""

    kind: XKind
    steps: Sequence[int]
    values: Sequence[Any]
    """Numbers, one per step; times in milliseconds since 1970, UTC (a page shows them in its viewer's zone). None where
    it is not known: nothing is drawn there."""
    start: Any
    """Position of step 0; None where it is not known."""

    @property
    def title(self) -> str:
        """Returns the title of the axis."""
        return _TITLES[self.kind]

    def at(self, step: int) -> Any:
        """Return the position of a step; of the next recorded one if it is not among the points (sampling)."""
        if step <= 0 or not self.steps:
            return self.start
        if self.kind == "step":
            return min(step, self.steps[-1])
        return self.values[min(bisect_left(self.steps, step), len(self.steps) - 1)]

    def layout(self) -> dict[str, Any]:
        """Return axis settings: dates only for wall time, thousands as 12k."""
        # Charts with few points, such as evaluations, show as much of the run as the others do.
        end = self.values[-1] if self.values else FIRST_VIEW_STEPS
        settings: dict[str, Any] = {"title": {"text": self.title}}
        if self.kind != "time":
            settings["autorangeoptions"] = {"include": [self.start, end]}
        match self.kind:
            case "step":
                return settings | {"tickformat": ",d", "rangemode": "tozero", "minallowed": 0}
            case "rollouts":
                return settings | {"tickformat": "~s", "rangemode": "tozero", "minallowed": 0}
            case "time":
                return settings | {"type": "date"}


def x_axis(series: Series, kind: XKind, started_at: datetime | None) -> XAxis:
    """Return the axis of a series; steps without the needed metric (older writers) take the value before them."""
    if kind == "step":
        return XAxis("step", series.steps, series.steps, 0)
    if kind == "rollouts":
        return XAxis("rollouts", series.steps, _filled(series.columns.get(ROLLOUTS_KEY), len(series.steps), 0.0), 0)
    origin = started_at.timestamp() if started_at else None
    times = [_milliseconds(value) for value in _filled(series.columns.get(TIME_KEY), len(series.steps), origin)]
    start = _milliseconds(origin)
    if start is not None and times and times[0] is not None:
        # The trainer's clock may be behind the server's, which recorded the start.
        start = min(start, times[0])
    return XAxis("time", series.steps, times, start)


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(1000 * seconds)


def _filled(column: Sequence[float | None] | None, length: int, before_first: float | None) -> list[float | None]:
    filled, last = [], before_first
    for value in column if column is not None else [None] * length:
        last = last if value is None else value
        filled.append(last)
    return filled


def x_hover(kind: XKind) -> str:
    """Return the heading of a unified hover label."""
    return {"step": "step %{x:,d}", "time": "%{x|%H:%M:%S}", "rollouts": "%{x:,d} rollouts"}[kind]


def over_training(
    traces: Sequence[go.Scatter], axis: XAxis, *, yaxis: dict[str, Any], height: int = 260, **layout: Any
) -> go.Figure:
    """Return a figure of traces over the run's x-axis; the theme is added where it is shown
    (`bapo.figures.theme.themed`)."""
    return go.Figure(
        traces,
        {
            "xaxis": axis.layout() | {"unifiedhovertitle": {"text": x_hover(axis.kind)}},
            "yaxis": yaxis,
            "height": height,
            # Names the axis: a zoom is kept over redraws of the same one (assets/live.js).
            "uirevision": axis.kind,
            **layout,
        },
    )


MOST_TICKS = 16
"""Group sizes up to which the accuracies k/G get their own ticks."""


def accuracy_names(group_size: int) -> list[str]:
    """Return 0/G, 1/G, … G/G, and the name of the prompts that were not seen."""
    return [*(f"{k}/{group_size}" for k in range(group_size + 1)), "not seen"]


def accuracy_axis(group_size: int) -> dict[str, Any]:
    """Return a y-axis of accuracies, with ticks at the attainable ones as long as they stay legible."""
    axis: dict[str, Any] = {"title": {"text": "accuracy"}, "fixedrange": True}
    if group_size > MOST_TICKS:
        return axis
    ticks = range(0, group_size + 1, 1 if group_size <= 8 else 2)
    names = [f"{k}/{group_size}" for k in ticks]
    return axis | {"tickvals": [k / group_size for k in ticks], "ticktext": names}


def matrix_axes(before: str, after: str) -> dict[str, Any]:
    """Return the axes of a matrix of accuracies: before in rows, the first on top, after in columns."""
    axis = {"type": "category", "showgrid": False, "showline": False, "fixedrange": True, "ticks": ""}
    return {
        "xaxis": axis | {"title": {"text": after}, "showspikes": False},
        "yaxis": axis | {"title": {"text": before}, "autorange": "reversed"},
        "uirevision": "matrix",
    }
