"""The charts of the run page, one module per tab."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from frontend.figures.marks import add_marks
from frontend.pages.run.charts import batch, difficulty, overview
from frontend.pages.run.charts.base import Chart
from frontend.pages.run.data import RunData
from frontend.theme import Palette

__all__ = ["BY_NAME", "CHARTS", "Chart", "charts_of", "drawn", "is_empty", "note_of"]

CHARTS: tuple[Chart, ...] = (*overview.CHARTS, *batch.CHARTS, *difficulty.CHARTS)
BY_NAME: Mapping[str, Chart] = {chart.name: chart for chart in CHARTS}
NO_MARKS = frozenset({"reevaluation"})


def charts_of(tab: str, method: str) -> list[Chart]:
    """The charts of a tab that mean something for the method."""
    return [chart for chart in CHARTS if chart.tab == tab and (chart.methods is None or method in chart.methods)]


def drawn(chart: Chart, data: RunData, palette: Palette) -> go.Figure:
    """The chart with the run's marks."""
    figure = chart.draw(data, palette).update_layout(height=chart.height)
    return figure if chart.name in NO_MARKS else add_marks(figure, data.marks, data.axis, palette)


def is_empty(figure: go.Figure) -> bool:
    """Whether there is nothing to see: no point, or bars of length 0 only."""
    return not any(
        value is not None and (trace.type != "bar" or value)
        for trace in figure.data
        for value in (trace.x if trace.type == "bar" else trace.y)
    )


def note_of(chart: Chart, data: RunData) -> str:
    """Says that steps were left out, where they were."""
    if chart.live != "append" or not data.num_left_out:
        return ""
    return f"{len(data.series.steps):,} of {data.run.step:,} steps shown"
