"""Entries that enter and leave the buffers in each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import area, column
from bapo.figures.theme import Palette

Buffer = Literal["difficult", "high_quality"]


def keys(buffer: Buffer) -> tuple[str, ...]:
    """Metrics of one buffer's turnover."""
    names = ("entered", "refreshed", "left_improved", "evicted", "expired")
    return tuple(f"bapo/buffer/{buffer}/{name}" for name in names)


class Turnover(NamedTuple):
    """Entries per step of one buffer."""

    axis: XAxis
    entered: Sequence[float | None]
    refreshed: Sequence[float | None]
    """Were there and were stored again."""
    left: Sequence[float | None]
    """Improved above c1."""
    evicted: Sequence[float | None]
    """Pushed out by the capacity."""
    expired: Sequence[float | None]
    """Grown too old."""


def turnover_data(series: Series, axis: XAxis, buffer: Buffer) -> Turnover:
    """Read one buffer's turnover off the metrics."""
    return Turnover(axis, *(column(series, key) for key in keys(buffer)))


def turnover_figure(data: Turnover, palette: Palette) -> go.Figure:
    """Draws entries that came in above zero and those that went out below."""
    flows = (
        ("entered", data.entered, palette.fresh, 1, "in"),
        ("refreshed", data.refreshed, palette.reused, 1, "in"),
        ("left, improved", data.left, palette.good, -1, "out"),
        ("evicted, no room", data.evicted, palette.reference, -1, "out"),
        ("expired, too old", data.expired, palette.reevaluated, -1, "out"),
    )
    traces = [
        area(
            data.axis.values,
            [None if value is None else sign * value for value in values],
            name,
            colour,
            stack=direction,
            hover="%{y:d}",
            strength=0.75,
        )
        for name, values, colour, sign, direction in flows
    ]
    return over_training(
        traces, data.axis, yaxis={"title": {"text": "entries: out | in"}, "rangemode": "normal", "zeroline": True}
    )
