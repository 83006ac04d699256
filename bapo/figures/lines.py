"""Several metrics as lines over training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training


class Line(NamedTuple):
    """One metric; gaps where it was not recorded."""

    name: str
    values: Sequence[float | None]
    colour: str
    dash: Literal["solid", "dash", "dot"] = "solid"
    """Dashed lines are references, with which the others are compared."""
    width: float = 1.5


def column(series: Series, key: str, factor: float = 1.0) -> Sequence[float | None]:
    """One metric, in another unit where a factor is given; all gaps where the run lacks it."""
    values = series.columns.get(key)
    if values is None:
        return [None] * len(series.steps)
    return values if factor == 1 else [None if value is None else value * factor for value in values]


def lines_figure(lines: Sequence[Line], axis: XAxis, *, hover: str, yaxis: dict[str, Any]) -> go.Figure:
    """Draws all lines on one axis; `hover` is the text of a point, such as `%{y:.1f} tokens`."""
    traces = [
        go.Scatter(
            x=axis.values,
            y=line.values,
            name=line.name,
            # A point between two gaps makes no line: what is known every few steps only would not be seen.
            mode="lines+markers" if _has_lone_points(line.values) else "lines",
            marker={"size": 3},
            line={"color": line.colour, "dash": line.dash, "width": line.width},
            hovertemplate=hover,
        )
        for line in lines
    ]
    return over_training(traces, axis, yaxis=yaxis)


def _has_lone_points(values: Sequence[float | None]) -> bool:
    known = [False, *(value is not None for value in values), False]
    return any(
        here and not before and not after for before, here, after in zip(known, known[1:], known[2:], strict=False)
    )
