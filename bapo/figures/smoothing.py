"""Moving means over steps, and how a chart shows them: the mean in front, what was measured faint behind."""

from __future__ import annotations

import re
from collections.abc import Sequence

import plotly.graph_objects as go

from bapo.api.runs import RECENT_STEPS
from bapo.figures.theme import faint

WINDOW_STEPS = RECENT_STEPS
"""Steps that a smoothed line averages over, the newest included."""


def moving_mean(values: Sequence[float | None], window: int = WINDOW_STEPS) -> list[float | None]:
    """Return mean of the last `window` values, gaps left out; None where all of them are gaps."""
    means: list[float | None] = []
    for end in range(1, len(values) + 1):
        known = [value for value in values[max(0, end - window) : end] if value is not None]
        means.append(sum(known) / len(known) if known else None)
    return means


def smoothed_figure(measured: go.Figure, means: go.Figure, label: str) -> go.Figure:
    """Change `measured` in place: its lines faint, the same lines of `means` in front of them, named with the label.

    Both figures come from the same function, one from the values and one from their means. Stacks and areas would
    hide one another and are shown as means alone; dashed references are as they were.
    """
    in_front = []
    for trace, mean in zip(measured.data, means.data, strict=True):
        if trace.line.dash == "dash":
            continue
        if trace.stackgroup or trace.fill:
            trace.update(y=mean.y, hovertemplate=_decimal(trace.hovertemplate), line={"shape": "linear"})
            continue
        group = trace.name
        in_front.append(
            mean.update(
                name=f"{trace.name}, {label}",
                legendgroup=group,
                line={"width": 2, "shape": "linear"},
                hovertemplate=_decimal(mean.hovertemplate),
            )
        )
        # The measured line goes with its mean where a legend hides it.
        trace.update(
            legendgroup=group, showlegend=False, line={"width": 1, "color": faint(trace.line.color)}, mode="lines"
        )
    return measured.add_traces(in_front)


def _decimal(hover: str | None) -> str | None:
    """Show decimals in the hover text: means of counts have them."""
    return hover and re.sub(r"%\{y:,?d\}", "%{y:,.2f}", hover)
