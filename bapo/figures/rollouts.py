"""Responses generated for training: how many so far, how long they are, and the share that is cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import ROLLOUTS_KEY, XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette, translucent

KEYS = (ROLLOUTS_KEY,)


class Rollouts(NamedTuple):
    """Responses generated for training up to each step."""

    axis: XAxis
    num_rollouts: Sequence[float | None]
    fresh_only: Sequence[float]
    """Cost of full batches of fresh prompts in the same steps: steps · fresh prompts · G, as under GRPO."""


def rollouts_data(series: Series, axis: XAxis, *, prompts_per_step: int, group_size: int) -> Rollouts:
    """Read the cost off the metrics; the reference follows from the config."""
    return Rollouts(
        axis,
        column(series, ROLLOUTS_KEY),
        [float(step * prompts_per_step * group_size) for step in series.steps],
    )


def rollouts_figure(data: Rollouts, palette: Palette) -> go.Figure:
    """Return rollouts so far, and those of full fresh batches as a dashed reference."""
    lines = [
        Line("all rollouts", data.num_rollouts, palette.accent, width=2),
        Line("full fresh batches", data.fresh_only, palette.reference, "dash"),
    ]
    figure = lines_figure(lines, data.axis, hover="%{y:,d}", yaxis={"title": {"text": "responses"}, "tickformat": "~s"})
    figure.data[0].update(fill="tozeroy", fillcolor=translucent(palette.accent, 0.12))
    return figure


LENGTH_KEYS = ("response_length/mean", "response_length/max", "response_length/clip_ratio")


def lengths_data(series: Series, palette: Palette) -> list[Line]:
    """Return mean and longest of the fresh responses in tokens, and the share that was cut at the token limit."""
    mean, longest, cut = (column(series, key) for key in LENGTH_KEYS)
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
