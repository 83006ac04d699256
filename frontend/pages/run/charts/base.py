"""A chart of the run page: its title and question, the data it needs, and how it is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from bapo.config.method import Trait
from bapo.figures.metric_charts import MetricChart, scalar
from bapo.figures.theme import Palette
from bapo.records import DeclaredMetric, StepRecord, declared_metrics
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
    """Question that the chart answers, shown below the title."""
    needs: frozenset[Need] = frozenset()
    live: Literal["append", "rebuild", "recorded"] = "append"
    """`append`: new steps are added; `rebuild`: redrawn from time to time; `recorded`: with an evaluation or a
    tracking."""
    only: Trait | None = None
    """Trait that a method must have for the chart to apply; `None` for all methods."""
    wide: bool = False
    height: int = 260
    empty: str = ""
    """Text of an empty chart; by default it says whether a step may still come."""
    smoothing: Literal["never", "on request", "always"] = "on request"
    """`always`: a mean of ten steps unless another smoothing, or none, is chosen."""
    only_recorded: bool = False
    """Left out if the run has recorded none of its metrics."""
    has_marks: bool = True
    """True if its x-axis follows the run."""
    tab: str = ""
    """Set by `of_tab`."""


def of_tab(tab: str, *charts: Chart) -> tuple[Chart, ...]:
    """Return the charts of one tab."""
    return tuple(replace(chart, tab=tab) for chart in charts)


def metric_chart(name: str, chart: MetricChart, title: str, explanation: str, **more: Any) -> Chart:
    """Return the card of a chart whose lines are metrics as they were recorded; `more` are the card's other fields."""

    def draw(data: RunData, palette: Palette) -> go.Figure:
        return chart.figure(data.series, data.axis, palette)

    return Chart(name, title, explanation, draw, chart.keys, **more)


DECLARED: Mapping[str, DeclaredMetric] = {each.name: each for each in declared_metrics(StepRecord)}
"""Metrics by name, as the fields of a step's record declare them."""


def recorded_chart(name: str, key: str) -> Chart:
    """Return the card of one metric, as its field declares it."""
    metric = DECLARED[key].metric
    chart = scalar(key, metric.title.lower(), metric.unit, from_zero=not metric.is_signed)
    return metric_chart(
        name,
        chart,
        metric.title,
        DECLARED[key].explanation.replace("\n", " "),
        height=220,
        question=metric.question,
        only=metric.only,
        only_recorded=metric.only_recorded,
        tab=metric.tab,
    )


def with_recorded(charts: Sequence[Chart]) -> tuple[Chart, ...]:
    """Return the charts, and a card for each metric that declares a tab and has no card to itself among them."""
    shown = {chart.keys for chart in charts}
    missing = [key for key, each in DECLARED.items() if each.metric.tab and (key,) not in shown]
    return (*charts, *(recorded_chart(re.sub(r"[/_]", "-", key), key) for key in missing))
