"""The critic's values beside the rewards that came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import column
from bapo.figures.theme import Palette

KEYS = ("critic/values/mean", "critic/returns/mean")


class Values(NamedTuple):
    """Means over the tokens of each step's batch."""

    axis: XAxis
    expected: Sequence[float | None]
    """V before the update."""
    came: Sequence[float | None]
    """R, what the values are trained towards."""


def values_data(series: Series, axis: XAxis) -> Values:
    """Read both off the metrics."""
    return Values(axis, *(column(series, key) for key in KEYS))


def values_figure(data: Values, palette: Palette) -> go.Figure:
    """Two lines on one scale."""
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=values,
            name=name,
            mode="lines",
            line={"color": palette.series[0], "dash": dash, "width": width},
            hovertemplate="%{y:.3f}",
        )
        for name, values, dash, width in (
            ("expected value", data.expected, "solid", 2.0),
            ("return that came", data.came, "dot", 1.2),
        )
    ]
    return over_training(traces, data.axis, yaxis={"title": {"text": "reward"}})
