"""Sizes of the difficult and the high-quality buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette

KEYS = ("bapo/buffer/difficult/size", "bapo/buffer/high_quality/size", "bapo/buffer/difficult/capacity")


class BufferSizes(NamedTuple):
    """Entries after each step."""

    axis: XAxis
    difficult: Sequence[float | None]
    high_quality: Sequence[float | None]
    difficult_capacity: Sequence[float | None]


def buffer_sizes_data(series: Series, axis: XAxis) -> BufferSizes:
    """Read the sizes off the metrics."""
    missing: list[float | None] = [None] * len(series.steps)
    return BufferSizes(axis, *(series.columns.get(key, missing) for key in KEYS))


def buffer_sizes_figure(data: BufferSizes, palette: Palette, *, has_difficult: bool = True) -> go.Figure:
    """Both sizes, and the difficult buffer's capacity as a dashed line; only stored groups where there is none."""
    stored = ("stored groups", data.high_quality, {"color": palette.reused, "width": 2})
    lines = (
        ("difficult prompts", data.difficult, {"color": palette.bad, "width": 2}),
        stored,
        ("difficult capacity", data.difficult_capacity, {"color": palette.reference, "dash": "dash", "width": 1.5}),
    )
    traces = [
        go.Scatter(x=data.axis.values, y=values, name=name, mode="lines", line=line, hovertemplate="%{y:,d}")
        for name, values, line in (lines if has_difficult else (stored,))
    ]
    return over_training(traces, data.axis, yaxis={"title": {"text": "entries" if has_difficult else "stored groups"}})
