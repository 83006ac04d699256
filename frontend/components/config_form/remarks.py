"""Remarks of the server on a config: refused and doubtful fields, and thresholds that admit no group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigReport
from bapo.figures import formatting
from bapo.figures.theme import palette_of, themed
from bapo.figures.threshold_map import starved_intervals, threshold_map_data, threshold_map_figure


def problem_list(problems: Sequence[FieldProblem], *, colour: str, title: str) -> Any:
    """Return field, value and remedy of each problem."""
    return dmc.Alert(
        html.Ul(
            [
                html.Li(
                    [
                        html.Code(problem.field),
                        f" = {formatting.config_value(problem.value)}: " if problem.value is not None else ": ",
                        problem.remedy,
                    ]
                )
                for problem in problems
            ],
            className="problem-list",
        ),
        title=title,
        color=colour,
        variant="light",
        p="sm",
    )


def starvation_note(report: ConfigReport) -> Any:
    """Return where no k/G is admitted, so that nothing is reused there."""
    gaps = starved_intervals(threshold_map_data(report.threshold_map))
    if not gaps:
        return None
    named = ", ".join(f"{low:.2f} to {high:.2f}" if low < high else f"{low:.2f}" for low, high in gaps)
    return dmc.Alert(
        f"At r_tot from {named} no accuracy k/G lies in [c2, c3] (framed), so nothing is reused there.",
        color="yellow",
        variant="light",
        p="xs",
        className="caution",
    )


def threshold_map(report: ConfigReport, scheme: str | None) -> tuple[Any, Any, dict[str, str]]:
    """Return the map, the note above it and the style of their card, which a method without thresholds hides."""
    if not report.threshold_map:
        return None, None, {"display": "none"}
    palette = palette_of(scheme)
    figure = themed(threshold_map_figure(threshold_map_data(report.threshold_map), palette), palette)
    return figure, starvation_note(report), {}
