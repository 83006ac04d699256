"""A chart of the run page: its title and question, the data it needs, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from bapo.config.method import Trait
from bapo.figures.metric_charts import MetricChart, scalar
from bapo.figures.theme import Palette
from frontend.pages.run.data import Need, RunData


@dataclass(frozen=True, slots=True)
class Chart:
    """One card of the run page."""

    name: str
    title: str
    explanation: str
    """Shown on hover."""
    draw: Callable[[RunData, Palette], go.Figure]
    keys: tuple[str, ...] = ()
    question: str = ""
    """What it answers, below the title."""
    needs: frozenset[Need] = frozenset()
    live: Literal["append", "rebuild", "recorded"] = "append"
    """`append`: new steps are added; `rebuild`: redrawn from time to time; `recorded`: with an evaluation or a
    tracking."""
    only: Trait | None = None
    """What a method must have for the chart to apply to it."""
    wide: bool = False
    height: int = 260
    empty: str = ""
    """What an empty chart says; by default whether a step may still come."""
    smoothing: Literal["never", "on request", "always"] = "on request"
    """`always`: a mean of ten steps unless another smoothing, or none, is chosen."""
    only_recorded: bool = False
    """Left out if the run has recorded none of its metrics."""
    has_marks: bool = True
    """Whether its x-axis follows the run."""
    tab: str = ""
    """Set by `of_tab`."""


def of_tab(tab: str, *charts: Chart) -> tuple[Chart, ...]:
    """Returns the charts of one tab."""
    return tuple(replace(chart, tab=tab) for chart in charts)


def metric_chart(name: str, chart: MetricChart, title: str, explanation: str, **more: Any) -> Chart:
    """Returns the card of a chart whose lines are metrics as they were recorded; `more` are the card's other fields."""

    def draw(data: RunData, palette: Palette) -> go.Figure:
        return chart.figure(data.series, data.axis, palette)

    return Chart(name, title, explanation, draw, chart.keys, **more)


def scalar_chart(
    name: str, key: str, title: str, explanation: str, unit: str, *, from_zero: bool = True, **more: Any
) -> Chart:
    """Returns the card of one metric."""
    chart = scalar(key, title.lower(), unit, from_zero=from_zero)
    return metric_chart(name, chart, title, explanation, height=220, **more)
