"""Figures 8 and 14: what each method's batches were made of, against the fixed batch size of GRPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.batch_composition import KEYS, composition_traces
from bapo.figures.groups import Group
from bapo.figures.panels import STEP_AXIS, Panel, axis_of, panel_figure, titled
from bapo.figures.seed_curves import MOST_POSITIONS, metric_curves, shown
from bapo.figures.theme import Palette


class CompositionPanel(NamedTuple):
    """Groups trained on per step by source, as means over replicates."""

    label: str
    n: int
    steps: Sequence[float]
    x1: Sequence[float | None]
    x2: Sequence[float | None]
    x3: Sequence[float | None]
    batch_size: Sequence[float | None]
    """B, which GRPO fills in every step."""
    mean_fill: float
    """Groups trained on as a share of B, over all steps."""


class BatchCompositions(NamedTuple):
    """One panel per group."""

    panels: Sequence[CompositionPanel]
    window: int
    """Steps that each point averages over."""


def batch_compositions_data(groups: Sequence[Group]) -> BatchCompositions:
    """Read the counts off the metrics."""
    longest = max((run.last_step for group in groups for run in group.runs), default=0)
    window = max(1, -(-longest // MOST_POSITIONS))
    panels = []
    for group in groups:
        curves = [found[0] for key in KEYS if (found := metric_curves([group], key, window=window))]
        if len(curves) < len(KEYS):
            continue
        x1, x2, x3, batch_size = curves
        panels.append(
            CompositionPanel(group.label, x1.n, x1.x, x1.mean, x2.mean, x3.mean, batch_size.mean, _mean_fill(group))
        )
    return BatchCompositions(panels, window)


def _mean_fill(group: Group) -> float:
    trained = batch = 0.0
    for run in group.runs:
        *sources, sizes = (run.column(key) for key in KEYS)
        trained += float(sum(values.sum() for values in sources))
        batch += float(sizes.sum())
    return trained / batch if batch else 0.0


def batch_compositions_figure(data: BatchCompositions, palette: Palette) -> go.Figure:
    """Draw stacked X1, X2, X3 with B as a dashed line."""
    panels = []
    for index, panel in enumerate(data.panels):
        suffix = axis_of(index)
        traces = composition_traces(
            panel.steps,
            (panel.x1, panel.x2, panel.x3),
            panel.batch_size,
            palette,
            name="B, the batch of GRPO",
            form=".3g",
            stack=f"batch{suffix}",
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
            showlegend=index == 0,
        )
        title = f"{shown(panel.label)} (n = {panel.n}): {100 * panel.mean_fill:.0f} % full"
        panels.append(Panel(title, traces, STEP_AXIS, titled("groups")))
    return panel_figure(panels)
