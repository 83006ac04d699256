"""Share of the batch size that each training batch fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette

KEYS = ("bapo/batch/fill_rate",)


class FillRate(NamedTuple):
    """Groups trained on, divided by B."""

    axis: XAxis
    fill_rate: Sequence[float | None]


def fill_rate_data(series: Series, axis: XAxis) -> FillRate:
    """Read the fill rate off the metrics."""
    return FillRate(axis, column(series, KEYS[0]))


def fill_rate_figure(data: FillRate, palette: Palette) -> go.Figure:
    """Draws the fill rate as one line."""
    # At least up to 1, and beyond where stored responses come on top of B.
    yaxis = {
        "title": {"text": "batch / B"},
        "tickformat": ".0%",
        "autorangeoptions": {"include": [0, 1.05], "clipmin": 0},
        "fixedrange": True,
    }
    line = Line("fill rate", data.fill_rate, palette.series[2], width=2)
    return lines_figure([line], data.axis, hover="%{y:.1%}", yaxis=yaxis)
