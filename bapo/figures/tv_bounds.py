"""The part that the lower bound of Theorem 3.2 subtracts for the distance of the policy to the behaviour policies."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.metric_charts import RESPONSE_DISTANCES
from bapo.figures.sources import drawn_sources
from bapo.figures.theme import Palette
from bapo.theory import bound_constant

WINDOW_KEYS = ("bapo/thresholds/c2", "bapo/thresholds/c3")
KEYS = (*RESPONSE_DISTANCES.keys, *WINDOW_KEYS)


class Penalties(NamedTuple):
    """2·K_i·TV(π_θ, α_i) + 2·TV(π_θt, α_i) over whole responses, at π_θ = π_θt, the policy before the step's update:
    2·(K_i + 1)·TV_i."""

    axis: XAxis
    values: Sequence[Sequence[float | None]]
    constants: Sequence[Sequence[float | None]]
    """K1, K2 and K3 at each step; K3 moves with the reuse window and so with r_tot (Eq. 13)."""


def penalties_data(series: Series, axis: XAxis, *, k1: float | None, k2: float | None) -> Penalties:
    """Assemble both terms of each source (Theorem 3.2); K3 follows the window [c2, c3] in force."""
    length = len(series.steps)
    k3 = [_k3(low, high) for low, high in zip(*(column(series, key) for key in WINDOW_KEYS), strict=True)]
    constants: list[list[float | None]] = [[k1] * length, [k2] * length, k3]
    values = [
        [None if k is None or tv is None else 2 * (k + 1) * tv for k, tv in zip(each, column(series, key), strict=True)]
        for each, key in zip(constants, RESPONSE_DISTANCES.keys, strict=True)
    ]
    return Penalties(axis, values, constants)


def _k3(low: float | None, high: float | None) -> float | None:
    if low is None or high is None:
        return None
    return bound_constant(Fraction(min(low * (1 - low), high * (1 - high))))


def penalties_figure(data: Penalties, palette: Palette) -> go.Figure:
    """One line per source, named with the latest value of its constant."""
    lines = [
        Line(f"{source.name} (K{number} = {_latest(constants)})", values, source.colour)
        for number, (source, values, constants) in enumerate(
            zip(drawn_sources(palette), data.values, data.constants, strict=True), start=1
        )
    ]
    return lines_figure(lines, data.axis, hover="%{y:.3g}", yaxis={"title": {"text": "2·(K + 1)·TV per response"}})


def _latest(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{known[-1]:.2f}" if known else "not defined"
