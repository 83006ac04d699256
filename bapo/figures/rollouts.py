"""Responses generated for training so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import ROLLOUTS_KEY, XAxis, over_training
from bapo.figures.theme import Palette, translucent

KEYS = (ROLLOUTS_KEY,)


class Rollouts(NamedTuple):
    """Responses generated for training up to each step."""

    axis: XAxis
    num_rollouts: Sequence[float | None]
    fresh_only: Sequence[float]
    """What full batches of fresh prompts cost in the same steps: steps · fresh prompts · G, as under GRPO."""


def rollouts_data(series: Series, axis: XAxis, *, prompts_per_step: int, group_size: int) -> Rollouts:
    """Read the cost off the metrics; the reference follows from the config."""
    return Rollouts(
        axis,
        series.columns.get(ROLLOUTS_KEY, [None] * len(series.steps)),
        [float(step * prompts_per_step * group_size) for step in series.steps],
    )


def rollouts_figure(data: Rollouts, palette: Palette) -> go.Figure:
    """Rollouts so far, and those of full fresh batches as a dashed reference."""
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=data.num_rollouts,
            name="all rollouts",
            mode="lines",
            line={"color": palette.accent, "width": 2},
            fill="tozeroy",
            fillcolor=translucent(palette.accent, 0.12),
            hovertemplate="%{y:,d}",
        ),
        go.Scatter(
            x=data.axis.values,
            y=data.fresh_only,
            name="full fresh batches",
            mode="lines",
            line={"color": palette.reference, "dash": "dash", "width": 1.5},
            hovertemplate="%{y:,d}",
        ),
    ]
    return over_training(
        traces,
        data.axis,
        yaxis={"title": {"text": "responses"}, "tickformat": "~s"},
    )
