"""The reward curve: fresh rollouts, and what was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette, translucent

KEYS = ("critic/rewards/mean", "bapo/batch/reward_mean")


class Rewards(NamedTuple):
    """Mean verified reward per step, as a share of the responses."""

    axis: XAxis
    fresh: Sequence[float | None]
    batch: Sequence[float | None]


def rewards_data(series: Series, axis: XAxis) -> Rewards:
    """Read the rewards off the metrics."""
    missing: list[float | None] = [None] * len(series.steps)
    fresh, batch = (series.columns.get(key, missing) for key in KEYS)
    return Rewards(axis, fresh, batch)


def rewards_figure(data: Rewards, palette: Palette) -> go.Figure:
    """Fresh reward; the batch's reward as a thin line, for it is no measure of the policy."""
    lines = (
        ("batch", data.batch, translucent(palette.reference, 0.6), 1, "dot"),
        ("fresh", data.fresh, palette.fresh, 2, "solid"),
    )
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=values,
            name=name,
            mode="lines",
            line={"color": colour, "width": width, "dash": dash},
            hovertemplate="%{y:.1%}",
        )
        for name, values, colour, width, dash in lines
    ]
    return over_training(
        traces,
        data.axis,
        yaxis={"title": {"text": "correct responses"}, "tickformat": ".0%"},
    )
