"""Response length, and the share of responses that are cut (Fig. 11 shows the mean)."""

from __future__ import annotations

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette

KEYS = ("response_length/mean", "response_length/max", "response_length/clip_ratio")


def lengths_data(series: Series, palette: Palette) -> list[Line]:
    """Return mean and longest of the fresh responses in tokens, and the share that was cut at the token limit."""
    mean, longest, cut = (column(series, key) for key in KEYS)
    return [
        Line("mean", mean, palette.series[0], width=2, hover="%{y:.1f} tokens"),
        Line("longest", longest, palette.series[0], "dot", 1.2, hover="%{y:.0f} tokens"),
        Line("cut at the limit", cut, palette.bad, width=1.2, hover="%{y:.1%}"),
    ]


def lengths_figure(lines: list[Line], axis: XAxis, palette: Palette) -> go.Figure:
    """Return tokens on the left, the share that was cut on the right."""
    figure = lines_figure(lines, axis, hover="", yaxis={"title": {"text": "tokens"}})
    figure.data[-1].yaxis = "y2"
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
        margin={"r": 56},
    )
