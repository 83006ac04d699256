"""Responses generated for training so far."""

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
