"""Several metrics as lines over training, or as areas stacked on one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette, translucent

Dash = Literal["solid", "dash", "dot"]


class Line(NamedTuple):
    """One metric; gaps where it was not recorded."""

    name: str
    values: Sequence[float | None]
    colour: str
    dash: Dash = "solid"
    """Dashed lines are references, with which the others are compared."""
    width: float = 1.5
    hover: str | None = None
    """Hover text, if it differs from that of the other lines."""
    stack: str | None = None
    """Then it is an area, on top of those before it in the same stack."""
    spans_gaps: bool = False
    """True if the line goes over gaps, of what is measured every few steps."""


def column(series: Series, key: str, factor: float = 1.0) -> Sequence[float | None]:
    """Return one metric, in another unit where a factor is given; all gaps where the run lacks it."""
    values = series.columns.get(key)
    if values is None:
        return [None] * len(series.steps)
    return values if factor == 1 else [None if value is None else value * factor for value in values]


def lines_figure(lines: Sequence[Line], axis: XAxis, *, hover: str, yaxis: dict[str, Any]) -> go.Figure:
    """Draw all lines on one axis; `hover` is the text of a point, such as `%{y:.1f} tokens`."""
    return over_training([_trace(line, axis, line.hover or hover) for line in lines], axis, yaxis=yaxis)


def _trace(line: Line, axis: XAxis, hover: str) -> go.Scatter:
    if line.stack is not None:
        return area(axis.values, line.values, line.name, line.colour, stack=line.stack, hover=hover)
    return go.Scatter(
        x=axis.values,
        y=line.values,
        name=line.name,
        # A point between two gaps makes no line: what is known every few steps only would not be seen.
        mode="lines+markers" if _has_lone_points(line.values) else "lines",
        marker={"size": 3},
        line={"color": line.colour, "dash": line.dash, "width": line.width},
        connectgaps=line.spans_gaps,
        hovertemplate=hover,
    )


def _has_lone_points(values: Sequence[float | None]) -> bool:
    known = [False, *(value is not None for value in values), False]
    return any(
        here and not before and not after for before, here, after in zip(known, known[1:], known[2:], strict=False)
    )


def area(
    x: Sequence[Any] | NDArray[np.float64],
    values: Sequence[float | None] | NDArray[np.float64],
    name: str,
    colour: str,
    *,
    stack: str,
    hover: str,
    strength: float = 0.85,
    shape: str = "hvh",
    **properties: Any,
) -> go.Scatter:
    """Return an area on top of those before it in the same stack; `shape` hvh gives each step its own width."""
    return go.Scatter(
        x=x,
        y=values,
        name=name,
        stackgroup=stack,
        mode="lines",
        line={"width": 0.5, "color": colour, "shape": shape},
        fillcolor=translucent(colour, strength),
        hovertemplate=hover,
        **properties,
    )


def interval_band(
    x: Sequence[Any], low: Sequence[float], high: Sequence[float], name: str, fill: str, **properties: Any
) -> go.Scatter:
    """Return the area between two bounds, which the legend and the hover leave to the line in its middle."""
    return go.Scatter(
        x=[*x, *reversed(x)],
        y=[*high, *reversed(low)],
        name=name,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=fill,
        hoverinfo="skip",
        showlegend=False,
        **properties,
    )


def level_key(name: str, palette: Palette) -> go.Scatter:
    """Return the legend's entry of the dashed levels, which have none of their own."""
    line = {"color": palette.reference, "width": 1, "dash": "dash"}
    return go.Scatter(x=[None], y=[None], name=name, mode="lines", line=line)


class Extension(NamedTuple):
    """New points of one chart, in the form that Plotly.extendTraces takes."""

    traces: list[int]
    columns: dict[str, list[list[object]]]
    """`x`, `y` (and `customdata`): one list per trace."""


def extension(figure: go.Figure, num_new: int) -> Extension:
    """Return the last `num_new` points of every trace.

    The figure may be made from more steps than are new (a moving mean needs those before). Raises ValueError where a
    trace has fewer points, for then it is no figure with one point per step.
    """
    columns: dict[str, list[list[object]]] = {"x": [], "y": []}
    for index, trace in enumerate(figure.data):
        for name, column in columns.items():
            values = list(trace[name])
            if len(values) < num_new:
                raise ValueError(f"trace {index} has {len(values)} points, fewer than the {num_new} new steps")
            column.append(values[len(values) - num_new :])
    return Extension(list(range(len(figure.data))), columns)
