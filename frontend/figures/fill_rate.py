"""How full the training batches are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api import Series
from frontend.figures.axes import XAxis, over_training
from frontend.figures.smoothing import WINDOW_STEPS, moving_mean
from frontend.theme import Palette, translucent

KEYS = ("bapo/batch/fill_rate",)


class FillRate(NamedTuple):
    """batch / B per step, as a share."""

    axis: XAxis
    fill_rate: Sequence[float | None]
    mean: Sequence[float | None]
    """Moving mean."""


def fill_rate_data(series: Series, axis: XAxis) -> FillRate:
    """Read the fill rate off the metrics and smooth it."""
    values = series.columns.get(KEYS[0], [None] * len(series.steps))
    return FillRate(axis, values, moving_mean(values))


def fill_rate_figure(data: FillRate, palette: Palette) -> go.Figure:
    """Each step, and the moving mean."""
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=data.fill_rate,
            name="each step",
            mode="lines",
            line={"color": translucent(palette.series[2], 0.35), "width": 1},
            hovertemplate="%{y:.1%}",
        ),
        go.Scatter(
            x=data.axis.values,
            y=data.mean,
            name=f"mean of {WINDOW_STEPS} steps",
            mode="lines",
            line={"color": palette.series[2], "width": 2},
            hovertemplate="%{y:.1%}",
        ),
    ]
    return over_training(
        traces,
        data.axis,
        yaxis={"title": {"text": "batch / B"}, "tickformat": ".0%", "range": [0, 1.05], "fixedrange": True},
    )
