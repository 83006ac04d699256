"""A fork experiment: the common history in grey, the arms side by side from the fork on, their paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from bapo.analysis.fork.results import ForkArm, ForkCurve, ForkExperiment
from bapo.figures.lines import interval_band
from bapo.figures.looks import LineStyle
from bapo.figures.panels import Panel, axis_of, panel_figure, titled
from bapo.figures.seed_curves import MOST_MARKERS, shown
from bapo.figures.theme import Palette, translucent

POINTS = 100.0
HISTORY = "common history"
LEAST_HISTORY = 10
"""Steps of it that are in sight at first; a chart can be zoomed out to all of it."""


def arm_styles(arms: Sequence[ForkArm], palette: Palette) -> list[LineStyle]:
    """Return the look of each arm: the baseline as text, noise dotted and grey, each other its own colour."""
    styles = []
    for arm in arms:
        colour = palette.series[(arm.number - 1) % len(palette.series)]
        dash = ("solid", "dash", "dot")[(arm.number - 1) // len(palette.series) % 3]
        match arm.role:
            case "baseline":
                styles.append(LineStyle(palette.text, "dash", "circle"))
            case "noise":
                styles.append(LineStyle(palette.reference, "dot", "circle"))
            case "arm":
                styles.append(LineStyle(colour, dash, "circle"))
    return styles


def fork_experiment_figure(data: ForkExperiment, palette: Palette) -> go.Figure:
    """Draw held-out accuracy, its paired difference to the baseline, and accuracy on fresh prompts, over the same
    steps.
    """
    fork = data.fork_step or 0
    styles = arm_styles(data.arms, palette)
    where = f"mean avg@k on {data.dataset}" if data.dataset else "mean avg@k"
    others = [(arm, style) for arm, style in zip(data.arms, styles, strict=True) if arm.role != "baseline"]
    grey = LineStyle(palette.reference, "solid", "circle")
    history = [
        _line(curve, fork, axis_of(0), HISTORY, grey, legend=number == 0) for number, curve in enumerate(data.history)
    ]
    training_history = [_line(curve, fork, axis_of(2), HISTORY, grey) for curve in data.training_history]
    evaluations = [
        _line(arm.evaluations, fork, axis_of(0), arm.label, style, legend=True)
        for arm, style in zip(data.arms, styles, strict=True)
    ]
    training = [
        _line(arm.training, fork, axis_of(2), arm.label, style) for arm, style in zip(data.arms, styles, strict=True)
    ]
    differences = [trace for arm, style in others for trace in _difference(arm, fork, axis_of(1), style)]
    begin = fork - max(LEAST_HISTORY, data.further_steps // 2)
    end = fork + data.further_steps
    room = (end - begin) * 0.02
    across = {"range": [max(begin, 0 if data.fork_step else begin) - room, end + room], "tickformat": ",d"}
    x = titled("training step" if data.fork_step else "steps after the fork", **across)
    zero = {"zeroline": True, "zerolinecolor": palette.reference, "zerolinewidth": 1.5}
    fresh = [*training_history, *training]
    panels = [
        Panel("Held-out accuracy", [*history, *evaluations], x, titled(where, tickformat=".0%")),
        Panel(
            f"Difference to {shown(data.arms[0].label)}, paired",
            differences,
            x,
            titled("percentage points", **zero),
        ),
        Panel("Accuracy on fresh prompts", fresh, x, titled("correct answers", tickformat=".0%")),
    ]
    marks = [
        {
            "type": "line",
            "x0": fork,
            "x1": fork,
            "xref": f"x{axis_of(index)}",
            "y0": 0,
            "y1": 1,
            "yref": f"y{axis_of(index)} domain",
            "line": {"color": palette.mark, "width": 1, "dash": "dot"},
        }
        for index in range(len(panels))
    ]
    # What is zoomed into stays while the page brings new points.
    return panel_figure(panels, columns=1, shapes=marks, hovermode="closest", uirevision="fork")


def _line(curve: ForkCurve, fork: int, axis: str, name: str, style: LineStyle, *, legend: bool = False) -> go.Scatter:
    # A panel without any point has no axes to draw.
    nothing: list[float | None] = [None]
    return go.Scatter(
        x=[each + fork for each in curve.x] or nothing,
        y=list(curve.y) or nothing,
        name=shown(name),
        legendgroup=name,
        mode="lines+markers" if len(curve.x) <= MOST_MARKERS else "lines",
        line={"color": style.colour, "dash": style.dash, "width": 2},
        marker={"symbol": style.symbol, "size": 6},
        hovertemplate="step %{x:,.0f}: %{y:.1%}",
        showlegend=legend,
        **_placed(axis),
    )


def _difference(arm: ForkArm, fork: int, axis: str, style: LineStyle) -> list[go.Scatter]:
    curve = arm.differences
    known = [
        (x + fork, POINTS * low, POINTS * high)
        for x, low, high in zip(curve.x, curve.low, curve.high, strict=True)
        if low is not None and high is not None
    ]
    traces = []
    if known:
        x, low, high = (list(column) for column in zip(*known, strict=True))
        fill = translucent(style.colour, 0.12)
        traces.append(
            interval_band(
                x, low, high, f"{shown(arm.label)} 95 % interval", fill, legendgroup=arm.label, **_placed(axis)
            )
        )
    points = ForkCurve(x=curve.x, y=[None if y is None else POINTS * y for y in curve.y])
    line = _line(points, fork, axis, arm.label, style)
    return [*traces, line.update(hovertemplate="step %{x:,.0f}: %{y:+.1f} points")]


def _placed(axis: str) -> dict[str, Any]:
    return {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
