"""One metric over training: entropy, gradient norm, KL and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette


class Scalar(NamedTuple):
    """A metric with its label and unit."""

    axis: XAxis
    name: str
    unit: str
    values: Sequence[float | None]
    from_zero: bool
    """Whether the axis begins at 0; signed metrics need both sides."""


def scalar_data(series: Series, axis: XAxis, key: str, *, name: str, unit: str, from_zero: bool = True) -> Scalar:
    """Reads one metric by step."""
    return Scalar(axis, name, unit, series.columns.get(key, [None] * len(series.steps)), from_zero)


def scalar_figure(data: Scalar, palette: Palette) -> go.Figure:
    """A single line; skipped steps are gaps."""
    line = go.Scatter(
        x=data.axis.values,
        y=data.values,
        name=data.name,
        mode="lines",
        line={"color": palette.series[0], "width": 1.5},
        hovertemplate="%{y:.4g}",
        showlegend=False,
    )
    return over_training(
        [line],
        data.axis,
        height=220,
        yaxis={"title": {"text": data.unit}, "rangemode": "tozero" if data.from_zero else "normal"},
    )
