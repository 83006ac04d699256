"""What a chart of the run page is: what it answers, what it needs and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from bapo.figures import scalar
from bapo.figures.theme import Palette
from frontend.pages.run.data import Need, RunData

BAPO = frozenset({"bapo", "ba_ppo"})
"""Methods with thresholds."""
BUFFERED = BAPO | {"bapo_mini"}
"""Methods that remember difficult prompts and answer them again."""
STORING = BUFFERED | {"repo", "remix", "arpo", "dots"}
"""Methods that keep groups for reuse."""
CRITIC = frozenset({"ppo", "ba_ppo"})
"""Methods that train a value model beside the policy."""


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
    methods: frozenset[str] | None = None
    """Methods that it says anything about; all where None."""
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
    methods: frozenset[str] | None = None,
) -> Chart:
    """One metric as a line."""

    def draw(data: RunData, palette: Palette) -> go.Figure:
        content = scalar.scalar_data(data.series, data.axis, key, name=title.lower(), unit=unit, from_zero=from_zero)
        return scalar.scalar_figure(content, palette)

    return Chart(name, tab, title, explanation, draw, (key,), height=220, methods=methods)
