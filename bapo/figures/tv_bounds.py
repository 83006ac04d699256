"""Distance of the policy to the behaviour policies, and the terms of Theorem 3.2 that it enters."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette
from bapo.rollout import BatchSource
from bapo.theory import bound_constant

Measure = Literal["tokens", "sequences"]
SOURCES = (BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED)
NAMES = ("X1 fresh", "X2 re-evaluated", "X3 reused")
WINDOW_KEYS = ("bapo/thresholds/c2", "bapo/thresholds/c3")


def keys(measure: Measure) -> tuple[str, ...]:
    """Metrics of the distances."""
    return tuple(f"bapo/tv/{measure}/{source.value}" for source in SOURCES)


class Distances(NamedTuple):
    """TV(π_θ, behaviour policy) before the update, estimated as ½·mean|ρ - 1|, per source."""

    axis: XAxis
    measure: Measure
    values: Sequence[Sequence[float | None]]


class Penalties(NamedTuple):
    """K_i · TV_i over whole responses: what the bound of Theorem 3.2 takes off per source, up to its factor 2."""

    axis: XAxis
    values: Sequence[Sequence[float | None]]
    constants: Sequence[Sequence[float | None]]
    """K1, K2 and K3 at each step; K3 moves with the reuse window and so with r_tot (Eq. 13)."""


def distances_data(series: Series, axis: XAxis, measure: Measure) -> Distances:
    """Read the distances off the metrics."""
    return Distances(axis, measure, [column(series, key) for key in keys(measure)])


def penalties_data(series: Series, axis: XAxis, *, k1: float | None, k2: float | None) -> Penalties:
    """Multiply each source's distance with its constant; K3 follows the window [c2, c3] in force."""
    length = len(series.steps)
    k3 = [_k3(low, high) for low, high in zip(*(column(series, key) for key in WINDOW_KEYS), strict=True)]
    constants: list[list[float | None]] = [[k1] * length, [k2] * length, k3]
    values = [
        [None if k is None or tv is None else k * tv for k, tv in zip(each, column(series, key), strict=True)]
        for each, key in zip(constants, keys("sequences"), strict=True)
    ]
    return Penalties(axis, values, constants)


def _k3(low: float | None, high: float | None) -> float | None:
    if low is None or high is None:
        return None
    return bound_constant(Fraction(min(low * (1 - low), high * (1 - high))))


def distances_figure(data: Distances, palette: Palette) -> go.Figure:
    """One line per source."""
    lines = [
        Line(name, values, colour) for name, values, colour in zip(NAMES, data.values, _colours(palette), strict=True)
    ]
    unit = "token" if data.measure == "tokens" else "whole response"
    return lines_figure(lines, data.axis, hover="%{y:.3g}", yaxis={"title": {"text": f"TV per {unit}"}})


def penalties_figure(data: Penalties, palette: Palette) -> go.Figure:
    """One line per source, named with the latest value of its constant."""
    lines = [
        Line(f"K{number}·TV, {name} (K{number} = {_latest(constants)})", values, colour)
        for number, (name, values, constants, colour) in enumerate(
            zip(NAMES, data.values, data.constants, _colours(palette), strict=True), start=1
        )
    ]
    return lines_figure(lines, data.axis, hover="%{y:.3g}", yaxis={"title": {"text": "K · TV per response"}})


def _colours(palette: Palette) -> tuple[str, str, str]:
    return palette.fresh, palette.reevaluated, palette.reused


def _latest(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{known[-1]:.2f}" if known else "not defined"
