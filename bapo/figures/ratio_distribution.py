"""Distribution of the ratios ρ = π_θ / behaviour policy over training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import RatioSeries
from bapo.figures.axes import XAxis, over_training
from bapo.figures.heat import heat_map
from bapo.figures.theme import Palette

LEAST_SHARE = 1e-4
"""Smallest share with a shade; smaller ones look the same."""


class RatioDistribution(NamedTuple):
    """Shares of tokens; `shares[b][i]` belongs to bin b and column i."""

    axis: XAxis
    x: Sequence[Any]
    bins: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    num_steps: Sequence[int]
    """Steps that a column sums."""


def bin_names(edges: Sequence[float]) -> list[str]:
    """Return `< 0.5`, `0.5 – 0.7`, …, `≥ 2`."""
    if not edges:
        return []
    inner = [f"{low:g} – {high:g}" for low, high in pairwise(edges)]
    return [f"< {edges[0]:g}", *inner, f"≥ {edges[-1]:g}"]


def ratio_distribution_data(ratios: RatioSeries, axis: XAxis) -> RatioDistribution:
    """Return the shares of each column's tokens; a column without tokens is a gap."""
    totals = [sum(counts) for counts in ratios.counts]
    names = bin_names(ratios.edges)
    shares = [
        [counts[row] / total if total else None for counts, total in zip(ratios.counts, totals, strict=True)]
        for row in range(len(names))
    ]
    spans = zip(ratios.first_steps, ratios.steps, strict=True)
    return RatioDistribution(
        axis, [axis.at(step) for step in ratios.steps], names, shares, [last - first + 1 for first, last in spans]
    )


def ratio_distribution_figure(data: RatioDistribution, palette: Palette) -> go.Figure:
    """Return a heat map: rows from far below 1 to far above, on a logarithmic scale, for nearly all tokens are at 1."""
    heat = heat_map(
        palette,
        "share of tokens",
        {"tickvals": [0, 1, 2, 3, 4], "ticktext": ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"]},
        x=data.x,
        y=data.bins,
        z=[
            [None if share is None or share == 0 else max(0.0, math.log10(share / LEAST_SHARE)) for share in row]
            for row in data.shares
        ],
        customdata=[[None if share is None else 100 * share for share in row] for row in data.shares],
        zmin=0,
        zmax=-math.log10(LEAST_SHARE),
        hovertemplate="ρ %{y}: %{customdata:.3g} % of tokens<extra></extra>",
    )
    # Categories in the order given, whatever is drawn first.
    yaxis = {"type": "category", "title": {"text": "ratio ρ"}, "categoryarray": list(data.bins), "showgrid": False}
    return over_training([heat], data.axis, yaxis=yaxis, hovermode="closest")
