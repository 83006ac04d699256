"""Accuracy of a study's arms over steps, rollouts and compute, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.looks import styles_of
from bapo.figures.panels import Panel, axis_of, panel_figure, titled
from bapo.figures.seed_curves import SeedCurve, curve_traces
from bapo.figures.theme import Palette
from bapo.study.declaration import Budget
from bapo.study.results import StudyCurve

TITLES: Mapping[Budget, tuple[str, str]] = {
    "steps": ("At equal steps", "training step"),
    "rollouts": ("At equal rollouts", "responses generated"),
    "compute": ("At equal compute", "CPU-seconds of training steps"),
}


class StudyPanel(NamedTuple):
    """Curves over one budget."""

    budget: Budget
    curves: Sequence[SeedCurve]


def study_curves_data(curves: Mapping[Budget, Sequence[StudyCurve]]) -> list[StudyPanel]:
    """Return a panel for each budget that anything is known over."""
    return [
        StudyPanel(
            budget, [SeedCurve(each.arm, each.n, each.x, each.mean, each.low, each.high) for each in curves[budget]]
        )
        for budget in TITLES
        if curves.get(budget)
    ]


def study_curves_figure(data: Sequence[StudyPanel], palette: Palette) -> go.Figure:
    """Draw means over seeds; bands only if few arms leave room for them."""
    labels = list(dict.fromkeys(curve.label for panel in data for curve in panel.curves))
    styles = styles_of(labels, palette)
    panels = []
    for index, panel in enumerate(data):
        title, axis = TITLES[panel.budget]
        traces = [
            trace
            for curve in panel.curves
            for trace in curve_traces(
                curve,
                styles[curve.label],
                axis=axis_of(index),
                hover=".1%",
                show_legend=index == 0,
                num_curves=len(panel.curves),
            )
        ]
        panels.append(Panel(title, traces, titled(axis, tickformat="~s"), titled("mean avg@k", tickformat=".0%")))
    return panel_figure(panels, hovermode="x unified" if len(labels) <= 6 else "closest")
