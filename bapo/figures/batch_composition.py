"""Batch composition: fresh, re-evaluated and reused groups of each step against the batch size B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.theme import Palette, translucent

KEYS = ("bapo/batch/x1", "bapo/batch/x2", "bapo/batch/x3", "bapo/batch/batch_size")


class BatchComposition(NamedTuple):
    """Groups trained on per step, by source."""

    axis: XAxis
    x1: Sequence[float | None]
    x2: Sequence[float | None]
    x3: Sequence[float | None]
    batch_size: Sequence[float | None]
    """B."""


def batch_composition_data(series: Series, axis: XAxis) -> BatchComposition:
    """Read the counts off the metrics."""
    missing: list[float | None] = [None] * len(series.steps)
    return BatchComposition(axis, *(series.columns.get(key, missing) for key in KEYS))


def batch_composition_figure(data: BatchComposition, palette: Palette) -> go.Figure:
    """Stacked X1, X2, X3 with B as a dashed line."""
    sources = (
        ("X1 fresh", data.x1, palette.fresh),
        ("X2 re-evaluated", data.x2, palette.reevaluated),
        ("X3 reused", data.x3, palette.reused),
    )
    traces = [
        go.Scatter(
            x=data.axis.values,
            y=counts,
            name=name,
            stackgroup="batch",
            mode="lines",
            line={"width": 0.5, "color": colour, "shape": "hvh"},
            fillcolor=translucent(colour, 0.85),
            hovertemplate="%{y:d} groups",
        )
        for name, counts, colour in sources
    ]
    traces.append(
        go.Scatter(
            x=data.axis.values,
            y=data.batch_size,
            name="batch size B",
            mode="lines",
            line={"color": palette.reference, "dash": "dash", "width": 1.5},
            hovertemplate="%{y:d}",
        )
    )
    return over_training(traces, data.axis, yaxis={"title": {"text": "groups"}})
