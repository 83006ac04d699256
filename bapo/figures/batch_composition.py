"""Batch composition: fresh, re-evaluated and reused groups of each step against the batch size B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import area, column
from bapo.figures.looks import drawn_sources
from bapo.figures.theme import Palette

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
    return BatchComposition(axis, *(column(series, key) for key in KEYS))


def batch_composition_figure(data: BatchComposition, palette: Palette, *, is_observed: bool = False) -> go.Figure:
    """Draw stacked X1, X2, X3 with B as a dashed line; for another trainer's run X1 alone, as no other is recorded."""
    counts = (data.x1,) if is_observed else (data.x1, data.x2, data.x3)
    traces = composition_traces(data.axis.values, counts, data.batch_size, palette, name="batch size B", form="d")
    return over_training(traces, data.axis, yaxis={"title": {"text": "groups"}})


def composition_traces(
    x: Sequence[Any],
    counts: Sequence[Sequence[float | None]],
    batch_size: Sequence[float | None],
    palette: Palette,
    *,
    name: str,
    form: str,
    stack: str = "batch",
    **placed: Any,
) -> list[go.Scatter]:
    """Return the areas of X1, X2 and X3, or of the first of them, and B as a dashed line; `placed` is where they are
    drawn."""
    areas = [
        area(
            x,
            values,
            source.name,
            source.colour,
            stack=stack,
            hover=f"%{{y:{form}}} groups",
            legendgroup=source.name if placed else None,
            **placed,
        )
        for source, values in zip(drawn_sources(palette), counts, strict=False)
    ]
    line = go.Scatter(
        x=x,
        y=batch_size,
        name=name,
        legendgroup="B" if placed else None,
        mode="lines",
        line={"color": palette.reference, "dash": "dash", "width": 1.5},
        hovertemplate=f"%{{y:{form}}}",
        **placed,
    )
    return [*areas, line]
