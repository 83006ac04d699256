"""Ages of the entries of both buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette

KEYS = (
    "bapo/buffer/difficult/age_mean",
    "bapo/buffer/difficult/age_max",
    "bapo/buffer/high_quality/age_mean",
    "bapo/buffer/high_quality/age_max",
)


class BufferAges(NamedTuple):
    """Steps since an entry was evaluated (difficult) or generated (high quality); gaps where a buffer is empty."""

    axis: XAxis
    difficult_mean: Sequence[float | None]
    difficult_max: Sequence[float | None]
    high_quality_mean: Sequence[float | None]
    high_quality_max: Sequence[float | None]


def buffer_ages_data(series: Series, axis: XAxis) -> BufferAges:
    """Read the ages off the metrics."""
    missing: list[float | None] = [None] * len(series.steps)
    return BufferAges(axis, *(series.columns.get(key, missing) for key in KEYS))


def buffer_ages_figure(data: BufferAges, palette: Palette, *, has_difficult: bool = True) -> go.Figure:
    """Mean ages solid, the oldest entries dotted; only those of stored groups where there is no difficult buffer."""
    lines = (
        ("difficult, mean", data.difficult_mean, palette.bad, "solid", 2.0),
        ("difficult, oldest", data.difficult_max, palette.bad, "dot", 1.2),
        ("stored groups, mean", data.high_quality_mean, palette.reused, "solid", 2.0),
        ("stored groups, oldest", data.high_quality_max, palette.reused, "dot", 1.2),
    )
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=values,
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": width},
            hovertemplate="%{y:.1f} steps",
        )
        for name, values, colour, dash, width in (lines if has_difficult else lines[2:])
    ]
    return over_training(traces, data.axis, yaxis={"title": {"text": "age in steps"}})
