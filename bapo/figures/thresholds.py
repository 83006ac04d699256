"""The thresholds in force: c1, the reuse window [c2, c3] and the mean accuracy r_tot that moves it (Eq. 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, accuracy_axis, over_training
from bapo.figures.lines import column
from bapo.figures.theme import Palette, translucent

KEYS = ("bapo/thresholds/c1", "bapo/thresholds/c2", "bapo/thresholds/c3", "bapo/thresholds/r_tot")


class ThresholdCurves(NamedTuple):
    """Values per step, as accuracies."""

    axis: XAxis
    group_size: int
    c1: Sequence[float | None]
    c2: Sequence[float | None]
    c3: Sequence[float | None]
    r_tot: Sequence[float | None]


def thresholds_data(series: Series, axis: XAxis, group_size: int) -> ThresholdCurves:
    """Read the thresholds off the metrics."""
    return ThresholdCurves(axis, group_size, *(column(series, key) for key in KEYS))


def thresholds_figure(data: ThresholdCurves, palette: Palette) -> go.Figure:
    """Draw c2 to c3 as a band, c1 and r_tot as lines; the grid is at the attainable accuracies k/G."""
    window = {"color": palette.reused, "width": 1.5, "shape": "hv"}
    traces = [
        _line(data, data.c2, "c2 reuse from", window),
        _line(data, data.c3, "c3 reuse up to", window).update(
            fill="tonexty", fillcolor=translucent(palette.reused, 0.18)
        ),
        _line(data, data.c1, "c1 difficult up to", {"color": palette.bad, "width": 1.5, "shape": "hv"}),
        _line(data, data.r_tot, "r_tot mean accuracy", {"color": palette.text, "width": 1.5, "dash": "dot"}),
    ]
    yaxis = accuracy_axis(data.group_size) | {"range": [0, 1]}
    return over_training(traces, data.axis, yaxis=yaxis)


def _line(data: ThresholdCurves, values: Sequence[float | None], name: str, line: dict[str, Any]) -> go.Scatter:
    return go.Scatter(x=data.axis.values, y=values, name=name, mode="lines", line=line, hovertemplate="%{y:.3f}")
