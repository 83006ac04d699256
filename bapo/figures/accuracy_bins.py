"""Prompts per accuracy over training: how many have 0, 1, … G correct responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.axes import XAxis, over_training
from bapo.figures.smoothing import WINDOW_STEPS, moving_mean
from bapo.figures.theme import Palette, accuracy_ramp
from bapo.records import TrackingRecord


class AccuracyBins(NamedTuple):
    """Shares of prompts per number of correct responses; `shares[k][i]` belongs to point i."""

    axis: XAxis
    x: Sequence[Any]
    group_size: int
    shares: Sequence[Sequence[float | None]]


def histogram_bins(
    histograms: Sequence[Sequence[int]], axis: XAxis, group_size: int, *, window: int = WINDOW_STEPS
) -> AccuracyBins:
    """Return the shares of each step's groups, as moving means; a step without groups is a gap."""
    totals = [sum(counts) for counts in histograms]
    shares = [
        moving_mean(
            [counts[k] / total if total else None for counts, total in zip(histograms, totals, strict=True)], window
        )
        for k in range(group_size + 1)
    ]
    return AccuracyBins(axis, axis.values, group_size, shares)


def tracking_bins(records: Sequence[TrackingRecord], axis: XAxis, group_size: int) -> AccuracyBins:
    """Return the shares of the tracked prompts at each sampling; the second sampling of the base model is left out."""
    sampled = [record for record in records if record.replicate == 0 and record.num_correct]
    shares = [
        [sum(count == k for count in record.num_correct) / len(record.num_correct) for record in sampled]
        for k in range(group_size + 1)
    ]
    return AccuracyBins(axis, [axis.at(record.step) for record in sampled], group_size, shares)


def accuracy_bins_figure(data: AccuracyBins, palette: Palette) -> go.Figure:
    """Draw stacked areas from 0/G (deep red, at the bottom) to G/G (deep blue, on top)."""
    ramp = accuracy_ramp(palette, data.group_size)
    # All bins of a small group are named; of a large one the two ends and the middle, for the others follow the ramp.
    named = set(range(data.group_size + 1)) if data.group_size <= 8 else {0, data.group_size // 2, data.group_size}
    # A single point draws no area.
    mode = "lines+markers" if len(data.x) == 1 else "lines"
    traces = [
        go.Scatter(
            x=data.x,
            y=data.shares[k],
            name=f"{k}/{data.group_size}",
            stackgroup="bins",
            mode=mode,
            line={"width": 0.5, "color": ramp[k]},
            fillcolor=ramp[k],
            showlegend=k in named,
            hovertemplate="%{y:.1%}",
        )
        for k in range(data.group_size + 1)
    ]
    return over_training(
        traces,
        data.axis,
        height=320,
        legend={"entrywidth": 32, "entrywidthmode": "pixels"},
        yaxis={"title": {"text": "share of prompts"}, "tickformat": ".0%", "range": [0, 1], "fixedrange": True},
    )
