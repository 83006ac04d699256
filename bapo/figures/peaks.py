"""The best evaluation of several curves, with a star."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.looks import LineStyle
from bapo.figures.seed_curves import SeedCurve, shown


class Peak(NamedTuple):
    """The best evaluation of a curve."""

    label: str
    step: float
    value: float


def best_of(curves: Sequence[SeedCurve]) -> Peak | None:
    """Return the highest point of any curve."""
    peaks = [each for curve in curves if (each := peak(curve)) is not None]
    return max(peaks, key=lambda each: each.value, default=None)


def peak(curve: SeedCurve) -> Peak | None:
    """Return the first of the highest points; None for a curve without one."""
    known = [(value, -x) for x, value in zip(curve.x, curve.mean, strict=True) if value is not None]
    if not known:
        return None
    value, negative_step = max(known)
    return Peak(curve.label, -negative_step, value)


def peak_trace(found: Peak, style: LineStyle, axis: str = "") -> go.Scatter:
    """Return a star with its value."""
    return go.Scatter(
        x=[found.step],
        y=[found.value],
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        name=f"best: {shown(found.label)}",
        mode="markers+text",
        text=[f"{100 * found.value:.1f} %"],
        textposition="top left",
        cliponaxis=False,
        marker={"symbol": "star", "size": 14, "color": style.colour},
        hoverinfo="skip",
        showlegend=False,
    )
