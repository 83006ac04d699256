"""Step time by phase (Table 2 compares methods by it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis, over_training
from bapo.figures.lines import area, column
from bapo.figures.theme import Palette

PHASES = ("gen", "reevaluation", "batch", "update")
KEYS = (*(f"timing_s/{phase}" for phase in PHASES), "timing_s/step")


class Timings(NamedTuple):
    """Seconds per step by phase."""

    axis: XAxis
    phases: Sequence[Sequence[float | None]]
    """Generation, re-evaluation, building the batch, update; then the rest of the step."""


def timings_data(series: Series, axis: XAxis) -> Timings:
    """Read the phases off the metrics; a phase that a step has not counts 0, so that the stack adds up."""
    phases = [[value or 0.0 for value in column(series, f"timing_s/{phase}")] for phase in PHASES]
    whole = column(series, "timing_s/step")
    rest = [
        None if total is None else max(0.0, total - sum(parts))
        for total, parts in zip(whole, zip(*phases, strict=True), strict=True)
    ]
    return Timings(axis, [*phases, rest])


def timings_figure(data: Timings, palette: Palette) -> go.Figure:
    """Draw stacked areas, whose top is the time of the whole step."""
    names = ("generation", "re-evaluation (X2)", "batch construction", "update", "rest")
    colours = (palette.fresh, palette.reevaluated, palette.reused, palette.series[2], palette.reference)
    traces = [
        area(data.axis.values, *phase, stack="step", hover="%{y:.3f} s", strength=0.8, shape="linear")
        for phase in zip(data.phases, names, colours, strict=True)
    ]
    return over_training(traces, data.axis, yaxis={"title": {"text": "seconds per step"}})
