"""Response length, and the share of responses that are cut (Fig. 11 shows the mean)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import column
from bapo.figures.theme import Palette

KEYS = ("response_length/mean", "response_length/max", "response_length/clip_ratio")


class Lengths(NamedTuple):
    """Of the fresh responses of each step."""

    axis: XAxis
    mean: Sequence[float | None]
    """Tokens."""
    longest: Sequence[float | None]
    clip_ratio: Sequence[float | None]
    """Share that was cut at the token limit."""


def lengths_data(series: Series, axis: XAxis) -> Lengths:
    """Read the lengths off the metrics."""
    return Lengths(axis, *(column(series, key) for key in KEYS))


def lengths_figure(data: Lengths, palette: Palette) -> go.Figure:
    """Mean and longest in tokens on the left, the share that was cut on the right."""
    traces = [
        _line(data, "mean", data.mean, palette.series[0], "solid", 2.0, "%{y:.1f} tokens"),
        _line(data, "longest", data.longest, palette.series[0], "dot", 1.2, "%{y:.0f} tokens"),
        _line(data, "cut at the limit", data.clip_ratio, palette.bad, "solid", 1.2, "%{y:.1%}").update(yaxis="y2"),
    ]
    figure = over_training(traces, data.axis, yaxis={"title": {"text": "tokens"}})
    return figure.update_layout(
        yaxis2={
            "title": {"text": "share cut", "font": {"color": palette.muted, "size": 11}},
            "overlaying": "y",
            "side": "right",
            # A line at the bottom means none; it never fills the chart with nothing.
            "range": [0, 1.02],
            "fixedrange": True,
            "tickformat": ".0%",
            "tickfont": {"color": palette.muted, "size": 11},
            "showgrid": False,
            "zeroline": False,
            "tickvals": [0, 0.5, 1],
        },
        margin={"r": 52},
    )


def _line(
    data: Lengths, name: str, values: Sequence[float | None], colour: str, dash: str, width: float, hover: str
) -> go.Scatter:
    return go.Scatter(
        x=data.axis.values,
        y=values,
        name=name,
        mode="lines",
        line={"color": colour, "dash": dash, "width": width},
        hovertemplate=hover,
    )
