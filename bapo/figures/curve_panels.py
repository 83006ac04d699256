"""Panels of curves that each show the same groups, with one legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.number_format import are_shares
from bapo.figures.looks import styles_of
from bapo.figures.panels import STEP_AXIS, Panel, axis_of, panel_figure, titled
from bapo.figures.peaks import Peak, peak_trace
from bapo.figures.seed_curves import SeedCurve, curve_traces
from bapo.figures.theme import Palette

HEADROOM = 1.15
HIGHEST_SHARE = 1.02
"""End of an axis of shares: a line at 1 is seen whole."""
TRUSTED_RUNS = 3
"""From which on an interval takes part in the choice of an axis: of two runs it is 12.7 standard errors wide."""


class Scale(NamedTuple):
    """The y-axis of a panel: what it shows, and how a value and the ticks are written."""

    title: str
    hover: str = ".1%"
    ticks: str | None = ".0%"


def reward_scale(curves: Sequence[SeedCurve], title: str = "correct responses") -> Scale:
    """Return the y-axis of mean rewards: in percent where all are shares of right responses."""
    is_share = are_shares(value for curve in curves for value in curve.mean)
    return Scale(title) if is_share else Scale("mean reward", ".4g", None)


class CurvePanel(NamedTuple):
    """One panel of curves."""

    title: str
    curves: Sequence[SeedCurve]
    scale: Scale = Scale("accuracy")


def curves_figure(
    panels: Sequence[CurvePanel],
    palette: Palette,
    *,
    looks: Mapping[str, str] | None = None,
    star: tuple[int, Peak | None] = (0, None),
    references: Sequence[go.Scatter] = (),
    **layout: Any,
) -> go.Figure:
    """Draw curves over training steps, from 0 if none is negative; each label appears in the legend once.

    `looks`: labels that are drawn like another. `star`: the panel of the best point. `references`: further lines of the
    first panel.
    """
    drawn_as = {label: (looks or {}).get(label, label) for label in labels_of(panels)}
    known = styles_of(list(dict.fromkeys(drawn_as.values())), palette)
    styles = {label: known[look] for label, look in drawn_as.items()}
    legended: set[str] = set()
    built = []
    for index, panel in enumerate(panels):
        traces: list[go.Scatter] = []
        for curve in panel.curves:
            traces += curve_traces(
                curve,
                styles[curve.label],
                axis=axis_of(index),
                hover=panel.scale.hover,
                show_legend=curve.label not in legended,
                num_curves=len(panel.curves),
            )
            legended.add(curve.label)
        others = list(references) if index == 0 else []
        if star[1] is not None and index == star[0]:
            others.append(peak_trace(star[1], styles[star[1].label], axis_of(index)))
        yaxis = _yaxis(panel, max([top_of(panel.curves), *(value for trace in others for value in trace.y)]))
        built.append(Panel(panel.title, [*traces, *others], STEP_AXIS, yaxis))
    return panel_figure(built, **layout)


def _yaxis(panel: CurvePanel, highest: float) -> dict[str, Any]:
    title, _, ticks = panel.scale
    top = HEADROOM * highest
    if ticks is not None and ticks.endswith("%"):
        top = min(top, HIGHEST_SHARE)
    is_negative = any(value is not None and value < 0 for curve in panel.curves for value in curve.mean)
    bounds = {"range": [0, top]} if top > 0 and not is_negative else {}
    return titled(title, **bounds) if ticks is None else titled(title, tickformat=ticks, **bounds)


def top_of(curves: Sequence[SeedCurve]) -> float:
    """Return the largest mean, or upper bound of a trusted interval that is at most twice as high; 0 where there is
    none."""
    means = [value for curve in curves for value in curve.mean if value is not None]
    highest = max(means, default=0.0)
    bounds = [value for curve in curves if curve.n >= TRUSTED_RUNS for value in curve.high if value is not None]
    return max([highest, *(min(bound, 2 * highest) for bound in bounds)])


def labels_of(panels: Sequence[CurvePanel]) -> list[str]:
    """Return labels of all curves, each once."""
    return list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
