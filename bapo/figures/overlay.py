"""One metric of several runs or groups over a common axis, with 95 % intervals over the runs of a group."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bapo.analysis.comparison import t_quantile
from bapo.api.compare import CompareAxis, ComparedCurve
from bapo.figures.looks import LineStyle
from bapo.figures.theme import Palette, translucent

Values = NDArray[np.float64]

MOST_POINTS = 12_000
"""Most points of all curves of a chart together: more are no longer legible and take long to draw."""
MOST_MARKERS = 30
MOST_IN_ONE_LABEL = 8
"""Curves up to which the hover label lists all at one position; beyond, it names the nearest."""
_ROOM_FOR_INTERVALS = 0.75
"""Share of the height of the curves by which intervals may stretch the axis; few seeds have very wide ones."""

AXES: Mapping[CompareAxis, dict[str, Any]] = {
    "step": {"title": {"text": "step"}, "tickformat": ",d"},
    "rollouts": {"title": {"text": "rollouts so far"}, "tickformat": "~s"},
    "time": {"title": {"text": "minutes in training steps"}},
}
"""Titles and formats of the common axis."""
_X_HOVER: Mapping[CompareAxis, str] = {
    "step": "step %{x:,.6~g}",
    "rollouts": "%{x:,.0f} rollouts",
    "time": "%{x:.1f} minutes",
}


class OverlaidCurve(NamedTuple):
    """A run, or the mean of a group."""

    label: str
    name: str
    """The label as people read it."""
    style: LineStyle
    x: Values
    mean: Values
    low: Values
    """Empty for a run alone; NaN where one run of the group was left. Of two runs the lower one."""
    high: Values
    n: int
    """Most runs behind a point."""
    is_hidden: bool


class OverlaidMark(NamedTuple):
    """A change of parameters of one of the runs behind a curve."""

    label: str
    """Label of the curve."""
    x: float
    text: str


class Overlay(NamedTuple):
    """The curves of one metric."""

    x_kind: CompareAxis
    unit: str
    is_share: bool
    """Drawn in percent."""
    curves: Sequence[OverlaidCurve]
    marks: Sequence[OverlaidMark] = ()


def overlay_data(
    curves: Sequence[ComparedCurve],
    x_kind: CompareAxis,
    styles: Mapping[str, LineStyle],
    *,
    names: Mapping[str, str],
    unit: str,
    is_share: bool,
    hidden: frozenset[str] = frozenset(),
    marks: Sequence[OverlaidMark] = (),
) -> Overlay:
    """Convert seconds to minutes, and the interval over two runs to their range; the rest stays the same."""
    scale = 1 / 60 if x_kind == "time" else 1.0
    return Overlay(
        x_kind,
        unit,
        is_share,
        [
            overlaid(curve, names[curve.label], styles[curve.label], scale=scale, is_hidden=curve.label in hidden)
            for curve in curves
        ],
        [mark._replace(x=mark.x * scale) for mark in marks],
    )


def overlaid(
    curve: ComparedCurve, name: str, style: LineStyle, *, scale: float = 1.0, is_hidden: bool = False
) -> OverlaidCurve:
    """Return a curve as it is drawn; `scale`: of its positions."""
    bounds = _bounds_of(curve)
    n = max(curve.n, default=1)
    return OverlaidCurve(curve.label, name, style, _array(curve.x) * scale, _array(curve.mean), *bounds, n, is_hidden)


def _bounds_of(curve: ComparedCurve) -> tuple[Values, Values]:
    """Return the interval over three runs or more; of two the runs themselves, for Student's interval would fill the
    chart.

    Two runs lie |d|/2 from their mean, and s/√2 = |d|/2: the interval is t(0.975, 1) = 12.7 times as wide.
    """
    mean, low, high = _array(curve.mean), _array(curve.low), _array(curve.high)
    if max(curve.n, default=1) != 2:
        return low, high
    return mean - (mean - low) / t_quantile(1), mean + (high - mean) / t_quantile(1)


def _array(values: Sequence[float | None]) -> Values:
    # None becomes NaN.
    return np.array(values, dtype=np.float64)


def points_per_curve(num_curves: int) -> int:
    """Return points to ask for so that a chart of so many curves stays quick: 100 to 1,000."""
    return min(1_000, max(100, MOST_POINTS // max(1, num_curves)))


def overlay_figure(data: Overlay, palette: Palette) -> go.Figure:
    """Return lines over their intervals; the more lines, the thinner. Every trace of a group has its label as
    legendgroup."""
    num_curves = len(data.curves)
    width = 2 if num_curves <= MOST_IN_ONE_LABEL else 1.4 if num_curves <= 20 else 1
    traces: list[dict[str, Any]] = [bound for curve in data.curves if has_band(curve) for bound in band(curve)]
    traces += [_line(curve, data, width) for curve in data.curves]
    traces += [
        _diamonds(curve, data, palette) for curve in data.curves if any(m.label == curve.label for m in data.marks)
    ]
    layout: dict[str, Any] = {
        "xaxis": AXES[data.x_kind] | {"rangemode": "tozero", "unifiedhovertitle": {"text": _X_HOVER[data.x_kind]}},
        "yaxis": {
            "title": {"text": data.unit},
            **({"tickformat": ".0%"} if data.is_share else {}),
            **({"range": bounds} if (bounds := _bounds(data.curves)) is not None else {}),
        },
        "height": 300,
        "showlegend": False,
        "hovermode": "x unified" if num_curves <= MOST_IN_ONE_LABEL else "closest",
        # A zoom holds while the axis stays the same.
        "uirevision": data.x_kind,
    }
    return go.Figure({"data": traces, "layout": layout})


def has_band(curve: OverlaidCurve) -> bool:
    """Return whether there are several runs behind it."""
    return bool(len(curve.low)) and not bool(np.isnan(curve.low).all())


def band(curve: OverlaidCurve) -> list[dict[str, Any]]:
    """Return the lower bound without a line, and the upper one filled down to it.

    One polygon (`toself`) of a noisy interval takes Plotly seconds.
    """
    known = ~np.isnan(curve.low)
    common = {
        "type": "scatter",
        "x": curve.x[known],
        "name": html.escape(f"{curve.name} {'range' if curve.n == 2 else '95 % interval'}"),
        "legendgroup": curve.label,
        "mode": "lines",
        "line": {"width": 0, "color": curve.style.colour},
        "hoverinfo": "skip",
        "visible": not curve.is_hidden,
    }
    filled = {"fill": "tonexty", "fillcolor": translucent(curve.style.colour, 0.13)}
    return [common | {"y": curve.low[known]}, common | filled | {"y": curve.high[known]}]


def _line(curve: OverlaidCurve, data: Overlay, width: float) -> dict[str, Any]:
    value = "%{y:.1%}" if data.is_share else "%{y:.4~g}"
    interval = "%{customdata}" if has_band(curve) else ""
    named = len(data.curves) > MOST_IN_ONE_LABEL
    return {
        "type": "scatter",
        "x": curve.x,
        "y": curve.mean,
        "name": html.escape(curve.name),
        "legendgroup": curve.label,
        "mode": "lines+markers" if len(curve.x) <= MOST_MARKERS and len(data.curves) <= 20 else "lines",
        "line": {"color": curve.style.colour, "dash": curve.style.dash, "width": width},
        "marker": {"size": 5, "symbol": curve.style.symbol},
        "customdata": intervals(curve, is_share=data.is_share) if interval else None,
        "hovertemplate": f"{_X_HOVER[data.x_kind]}<br>{value}{interval}<extra>{html.escape(curve.name)}</extra>"
        if named
        else f"{value}{interval}",
        "visible": not curve.is_hidden,
    }


def _diamonds(curve: OverlaidCurve, data: Overlay, palette: Palette) -> dict[str, Any]:
    """Draw changes of parameters as diamonds on the curve."""
    marks = [mark for mark in data.marks if mark.label == curve.label]
    known = ~np.isnan(curve.mean)
    return {
        "type": "scatter",
        "x": [mark.x for mark in marks],
        "y": np.interp([mark.x for mark in marks], curve.x[known], curve.mean[known]) if known.any() else [],
        "name": html.escape(f"{curve.name} changes"),
        "legendgroup": curve.label,
        "mode": "markers",
        "marker": {
            "symbol": "diamond",
            "size": 11,
            "color": palette.mark,
            "line": {"color": curve.style.colour, "width": 2},
        },
        "customdata": [html.escape(mark.text) for mark in marks],
        "hovertemplate": "%{customdata}<extra></extra>",
        "visible": not curve.is_hidden,
    }


def intervals(curve: OverlaidCurve, *, is_share: bool) -> list[str]:
    """Return the interval of each point as text; empty where there is none."""

    def text(value: float) -> str:
        return f"{100 * value:.1f} %" if is_share else f"{value:.4g}"

    return [
        "" if math.isnan(low) else f" ({text(low)} to {text(high)})"
        for low, high in zip(curve.low.tolist(), curve.high.tolist(), strict=True)
    ]


def _bounds(curves: Sequence[OverlaidCurve]) -> list[float] | None:
    """Return a range that holds the curves, and as much of their intervals as leaves the curves room; None without
    a value.
    """
    values = np.concatenate([curve.mean for curve in curves]) if curves else np.empty(0)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    least, most = float(values.min()), float(values.max())
    span = most - least or abs(most) or 1.0
    bounds = [bound[~np.isnan(bound)] for curve in curves for bound in (curve.low, curve.high)]
    known = np.concatenate([values, *bounds])
    low = max(float(known.min()), least - _ROOM_FOR_INTERVALS * span) - 0.05 * span
    high = min(float(known.max()), most + _ROOM_FOR_INTERVALS * span) + 0.05 * span
    # What cannot be negative is not drawn so.
    return [max(low, 0.0) if least >= 0 else low, high]
