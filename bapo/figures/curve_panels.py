"""Panels of curves that each show the same groups, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.methods import LineStyle
from bapo.figures.panels import STEP_AXIS, Panel, axis_of
from bapo.figures.seed_curves import SeedCurve, curve_traces

HEADROOM = 1.15
HIGHEST_SHARE = 1.02
"""End of an axis of shares: a line at 1 is seen whole."""
TRUSTED_RUNS = 3
"""From which on an interval takes part in the choice of an axis: of two runs it is 12.7 standard errors wide."""


class CurvePanel(NamedTuple):
    """One panel of curves."""

    title: str
    curves: Sequence[SeedCurve]


def curve_panels(
    panels: Sequence[CurvePanel],
    styles: Mapping[str, LineStyle],
    yaxes: Sequence[Mapping[str, Any]],
    *,
    hover: Sequence[str],
    extra: Mapping[int, Sequence[go.Scatter]] | None = None,
) -> list[Panel]:
    """Curves of what is never negative over training steps; each label stands in the legend once.

    `extra` are further traces of a panel.
    """
    legended: set[str] = set()
    built = []
    for index, panel in enumerate(panels):
        traces: list[go.Scatter] = []
        for curve in panel.curves:
            traces += curve_traces(
                curve,
                styles[curve.label],
                axis=axis_of(index),
                hover=hover[index],
                show_legend=curve.label not in legended,
                num_curves=len(panel.curves),
            )
            legended.add(curve.label)
        others = (extra or {}).get(index, ())
        highest = max([top_of(panel.curves), *(value for trace in others for value in trace.y)])
        top = HEADROOM * highest
        if str(yaxes[index].get("tickformat", "")).endswith("%"):
            top = min(top, HIGHEST_SHARE)
        yaxis = {**yaxes[index], **({"range": [0, top]} if top > 0 else {})}
        built.append(Panel(panel.title, [*traces, *others], STEP_AXIS, yaxis))
    return built


def top_of(curves: Sequence[SeedCurve]) -> float:
    """The largest mean, or upper bound of a trusted interval that is at most twice as high; 0 where there is none."""
    means = [value for curve in curves for value in curve.mean if value is not None]
    highest = max(means, default=0.0)
    bounds = [value for curve in curves if curve.n >= TRUSTED_RUNS for value in curve.high if value is not None]
    return max([highest, *(min(bound, 2 * highest) for bound in bounds)])


def labels_of(panels: Sequence[CurvePanel]) -> list[str]:
    """Labels of all curves, each once."""
    return list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
