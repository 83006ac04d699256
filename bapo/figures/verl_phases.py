"""Time of verl's own phases within a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.api.records import Series
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, column, lines_figure
from bapo.figures.theme import Palette

PHASES = (
    ("update_weights", "weights to vLLM"),
    ("gen", "generating"),
    ("update_actor", "updating the policy"),
    ("update_critic", "updating the critic"),
    ("values", "values of the critic"),
    ("log_prob", "log-probabilities"),
    ("adv", "advantages"),
    ("reward", "verifying"),
)
"""verl's name of each, and ours."""
KEYS = tuple(f"timing_s/verl/{phase}" for phase, _ in PHASES)


class VerlPhases(NamedTuple):
    """Seconds per step of the phases that the run has."""

    axis: XAxis
    seconds: dict[str, Sequence[float | None]]
    """By our name."""


def verl_phases_data(series: Series, axis: XAxis) -> VerlPhases:
    """Read the phases off the metrics; those that no step had are left out."""
    columns = {name: column(series, key) for key, (_, name) in zip(KEYS, PHASES, strict=True)}
    return VerlPhases(axis, {name: each for name, each in columns.items() if any(value is not None for value in each)})


def verl_phases_figure(data: VerlPhases, palette: Palette) -> go.Figure:
    """One line per phase; where colours come round again, dotted ones."""
    colours = palette.series
    lines = [
        Line(name, seconds, colours[index % len(colours)], "solid" if index < len(colours) else "dot")
        for index, (name, seconds) in enumerate(data.seconds.items())
    ]
    return lines_figure(lines, data.axis, hover="%{y:.3f} s", yaxis={"title": {"text": "seconds per step"}})
