"""What figures of curves share: panels that each show the same groups, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from frontend.figures.methods import LineStyle
from frontend.figures.panels import STEP_AXIS, Panel, axis_of
from frontend.figures.seed_curves import SeedCurve, curve_traces


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
    """Curves over training steps; each label stands in the legend once. `extra` are further traces of a panel."""
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
            )
            legended.add(curve.label)
        built.append(Panel(panel.title, [*traces, *(extra or {}).get(index, ())], STEP_AXIS, yaxes[index]))
    return built


def labels_of(panels: Sequence[CurvePanel]) -> list[str]:
    """Labels of all curves, each once."""
    return list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
