"""The policy improvement bound of Theorem 3.2: both of its sides, and what it subtracts for old data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.looks import drawn_sources
from bapo.figures.metric_charts import RESPONSE_DISTANCES
from bapo.figures.theme import Palette
from bapo.rollout import BatchSource
from bapo.theory import bound_constant, improvement_bound

WINDOW_KEYS = ("bapo/thresholds/c2", "bapo/thresholds/c3")
KEYS = (*RESPONSE_DISTANCES.keys, *WINDOW_KEYS)
IMPROVEMENTS, SURROGATES, DISTANCES = (
    [f"bapo/bound/{term}/{source}" for source in (BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED)]
    for term in ("improvement", "surrogate", "tv")
)
BOUND_KEYS = (*KEYS, *IMPROVEMENTS, *SURROGATES, *DISTANCES)


class Bound(NamedTuple):
    """Both sides of the bound after each measured update, of X1, X2 and X3."""

    axis: XAxis
    improvements: Sequence[Sequence[float | None]]
    """J(π_θ) - J(π_θt)."""
    bounds: Sequence[Sequence[float | None]]
    """L_α - 2·K·TV(π_θ, α) - 2·TV(π_θt, α)."""


def bound_data(series: Series, axis: XAxis, *, k1: float | None, k2: float | None) -> Bound:
    """Assemble both sides of each source (Theorem 3.2); K3 follows the window [c2, c3] in force."""
    bounds = [
        [_bound(*terms) for terms in zip(constants, *(column(series, key) for key in keys), strict=True)]
        for constants, *keys in zip(
            _constants(series, k1, k2), SURROGATES, DISTANCES, RESPONSE_DISTANCES.keys, strict=True
        )
    ]
    return Bound(axis, [column(series, key) for key in IMPROVEMENTS], bounds)


def _bound(k: float | None, surrogate: float | None, after: float | None, before: float | None) -> float | None:
    if k is None or surrogate is None or after is None or before is None:
        return None
    return improvement_bound(k=k, surrogate=surrogate, tv=after, tv_before=before)


def bound_figure(data: Bound, palette: Palette) -> go.Figure:
    """Draw the improvement of each source, and dashed below it the bound."""
    lines = []
    for source, improvements, bounds in zip(drawn_sources(palette), data.improvements, data.bounds, strict=True):
        lines += [
            Line(source.name, improvements, source.colour, spans_gaps=True),
            Line(f"{source.name}, bound", bounds, source.colour, "dash", spans_gaps=True),
        ]
    return lines_figure(lines, data.axis, hover="%{y:.3g}", yaxis={"title": {"text": "expected reward"}})


class Penalties(NamedTuple):
    """2·K_i·TV(π_θ, α_i) + 2·TV(π_θt, α_i) over whole responses, at π_θ = π_θt, the policy before the step's update:
    2·(K_i + 1)·TV_i."""

    axis: XAxis
    values: Sequence[Sequence[float | None]]
    constants: Sequence[Sequence[float | None]]
    """K1, K2 and K3 at each step; K3 moves with the reuse window and so with r_tot (Eq. 13)."""


def penalties_data(series: Series, axis: XAxis, *, k1: float | None, k2: float | None) -> Penalties:
    """Assemble both terms of each source (Theorem 3.2); K3 follows the window [c2, c3] in force."""
    constants = _constants(series, k1, k2)
    values = [
        [None if k is None or tv is None else 2 * (k + 1) * tv for k, tv in zip(each, column(series, key), strict=True)]
        for each, key in zip(constants, RESPONSE_DISTANCES.keys, strict=True)
    ]
    return Penalties(axis, values, constants)


def _constants(series: Series, k1: float | None, k2: float | None) -> list[list[float | None]]:
    """Return K1, K2 and K3 at each step."""
    length = len(series.steps)
    k3 = [_k3(low, high) for low, high in zip(*(column(series, key) for key in WINDOW_KEYS), strict=True)]
    return [[k1] * length, [k2] * length, k3]


def _k3(low: float | None, high: float | None) -> float | None:
    if low is None or high is None:
        return None
    return bound_constant(Fraction(min(low * (1 - low), high * (1 - high))))


def penalties_figure(data: Penalties, palette: Palette) -> go.Figure:
    """Return one line per source, named with the latest value of its constant."""
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
