"""The charts of the run page, one module per tab."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from bapo.config.method import has_trait
from bapo.figures.marks import add_marks
from bapo.figures.smoothing import WINDOW_STEPS, smoothed_figure
from bapo.figures.theme import Palette
from frontend.pages.run.charts import batch, difficulty, off_policy, overview, system
from frontend.pages.run.charts.base import Chart, with_recorded
from frontend.pages.run.data import RunData

__all__ = ["BY_NAME", "CHARTS", "Chart", "charts_named", "charts_of", "drawn", "is_empty", "note_of", "plain"]

CHARTS = with_recorded(
    (
        *overview.CHARTS,
        *batch.CHARTS,
        *difficulty.CHARTS,
        *off_policy.CHARTS,
        *system.CHARTS,
    )
)
BY_NAME: Mapping[str, Chart] = {chart.name: chart for chart in CHARTS}

SMOOTHINGS: Mapping[str, str] = {
    "5": "mean:5",
    "10": "mean:10",
    "25": "mean:25",
    "50": "mean:50",
    "ema": "ema:20",
}
"""Smoothings by their name in the address, as the API calls them."""
OFF = "off"
_ALWAYS = f"mean:{WINDOW_STEPS}"


def charts_of(tab: str, method: str) -> list[Chart]:
    """Return the charts of a tab that apply to the method."""
    return [chart for chart in CHARTS if chart.tab == tab and (chart.only is None or has_trait(method, chart.only))]


def charts_named(names: Sequence[str]) -> list[Chart]:
    """Return charts in the order of their names, without unknown names."""
    return [BY_NAME[name] for name in names if name in BY_NAME]


def smoothing_for(charts: Sequence[Chart], choice: str | None) -> str | None:
    """Return what the API is asked to smooth by; None if no chart is smoothed."""
    named = SMOOTHINGS.get(choice or "")
    if named is not None:
        return named
    return _ALWAYS if choice != OFF and any(chart.smoothing == "always" for chart in charts) else None


def plain(chart: Chart, data: RunData, palette: Palette, smoothing: str | None) -> go.Figure:
    """Return the chart without marks; where new steps are appended, a trace has one point per step."""
    figure = chart.draw(data, palette)
    if smoothing in SMOOTHINGS:
        is_smooth = chart.smoothing != "never"
    else:
        is_smooth = chart.smoothing == "always" and smoothing != OFF
    if not is_smooth or chart.live != "append" or data.means is None:
        return figure
    means = chart.draw(data._replace(series=data.means), palette)
    kind, _, span = SMOOTHINGS.get(smoothing or "", _ALWAYS).partition(":")
    return smoothed_figure(figure, means, f"mean of {span}" if kind == "mean" else f"exponential mean of {span}")


def drawn(chart: Chart, data: RunData, palette: Palette, smoothing: str | None = None) -> go.Figure:
    """Return the chart with the run's marks."""
    figure = plain(chart, data, palette, smoothing).update_layout(height=chart.height)
    return add_marks(figure, data.marks, data.axis, palette) if chart.has_marks else figure


def is_empty(figure: go.Figure) -> bool:
    """Return whether there is nothing to see: no points, or only bars and cells of 0."""
    return not any(_shows_something(trace) for trace in figure.data)


def _shows_something(trace: go.Scatter | go.Bar | go.Heatmap) -> bool:
    if trace.type == "heatmap":
        return any(value for row in trace.z for value in row)
    if trace.type == "bar":
        return any(trace.x if trace.orientation == "h" else trace.y)
    return any(value is not None for value in trace.y)


def note_of(chart: Chart, data: RunData) -> tuple[int, int] | None:
    """Return the numbers of steps shown and of all steps; None if none were left out."""
    if chart.live != "append" or not data.num_left_out:
        return None
    return len(data.series.steps), data.run.step
