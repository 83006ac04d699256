"""Differences of a study's arms to the reference arm, seed by seed, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.number_format import counted
from bapo.figures.looks import styles_of
from bapo.figures.panels import Panel, axis_of, error_bars, panel_figure, titled
from bapo.figures.seed_curves import shown
from bapo.figures.study_curves import TITLES
from bapo.figures.theme import Palette
from bapo.study.declaration import Budget
from bapo.study.results import StudyDifference

ROW_HEIGHT = 22
POINTS = 100.0


class PairedPoint(NamedTuple):
    """The paired difference of one arm."""

    arm: str
    difference: float
    """Percentage points."""
    low: float | None
    high: float | None
    n: int


class PairedPanel(NamedTuple):
    """The paired differences of all arms at one budget."""

    budget: Budget
    points: Sequence[PairedPoint]


def paired_differences_data(differences: Sequence[StudyDifference]) -> list[PairedPanel]:
    """Return a panel for each budget at which any pair of seeds can be compared."""
    panels = []
    for budget in TITLES:
        points = [
            PairedPoint(
                each.arm,
                POINTS * each.difference.value,
                None if each.difference.low is None else POINTS * each.difference.low,
                None if each.difference.high is None else POINTS * each.difference.high,
                each.difference.n,
            )
            for each in differences
            if each.at == budget and each.difference is not None
        ]
        if points:
            panels.append(PairedPanel(budget, points))
    return panels


def paired_differences_figure(data: Sequence[PairedPanel], palette: Palette) -> go.Figure:
    """Draw a row for each arm: its difference and interval, with a line at 0."""
    styles = styles_of(list(dict.fromkeys(point.arm for panel in data for point in panel.points)), palette)
    panels = []
    for index, panel in enumerate(data):
        rows = list(reversed(panel.points))
        traces = [
            go.Scatter(
                x=[point.difference],
                y=[row],
                error_x=error_bars([point.difference], [point.low], [point.high], styles[point.arm].colour),
                mode="markers",
                marker={"color": styles[point.arm].colour, "symbol": styles[point.arm].symbol, "size": 8},
                name=shown(point.arm),
                showlegend=False,
                hovertemplate=f"%{{x:+.2f}} points, {counted(point.n, 'seed')}",
                xaxis=f"x{axis_of(index)}",
                yaxis=f"y{axis_of(index)}",
            )
            for row, point in enumerate(rows)
        ]
        yaxis = {
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": [shown(point.arm) for point in rows],
            "automargin": True,
            "range": [-0.6, len(rows) - 0.4],
            "fixedrange": True,
            "showgrid": False,
        }
        xaxis = titled(
            "percentage points", zeroline=True, zerolinecolor=palette.reference, zerolinewidth=1.5, ticksuffix=""
        )
        panels.append(Panel(TITLES[panel.budget][0], traces, xaxis, yaxis))
    most = max((len(panel.points) for panel in data), default=1)
    return panel_figure(panels, hovermode="closest", panel_height=max(120, 40 + most * ROW_HEIGHT))
