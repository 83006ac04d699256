"""What a chart of the run page is: what it answers, what it needs and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from bapo.config.method import Trait
from bapo.figures import scalar
from bapo.figures.theme import Palette
from frontend.pages.run.data import Need, RunData


@dataclass(frozen=True, slots=True)
class Chart:
    """One card of the run page."""

    name: str
    tab: str
    title: str
    explanation: str
    draw: Callable[[RunData, Palette], go.Figure]
    keys: tuple[str, ...] = ()
    needs: frozenset[Need] = frozenset()
    live: Literal["append", "rebuild", "event"] = "append"
    """`append`: new steps are added; `rebuild`: drawn anew now and then; `event`: only when such a record comes."""
    only: Trait | None = None
    """What a method must have for the chart to say anything about it."""
    wide: bool = False
    height: int = 260
    empty: str = "The first step is not finished yet."
    smoothing: Literal["never", "on request", "always"] = "on request"
    """`always`: a mean of ten steps where nobody chose another, or none."""
    only_recorded: bool = False
    """Left out where the run has recorded none of its metrics."""
    has_marks: bool = True
    """Whether its x-axis is the course of the run."""


def scalar_chart(
    name: str,
    tab: str,
    key: str,
    title: str,
    explanation: str,
    unit: str,
    *,
    from_zero: bool = True,
    only: Trait | None = None,
) -> Chart:
    """One metric as a line."""

    def draw(data: RunData, palette: Palette) -> go.Figure:
        content = scalar.scalar_data(data.series, data.axis, key, name=title.lower(), unit=unit, from_zero=from_zero)
        return scalar.scalar_figure(content, palette)

    return Chart(name, tab, title, explanation, draw, (key,), height=220, only=only)
