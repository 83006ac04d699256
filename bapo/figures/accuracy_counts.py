"""Prompts per accuracy before and after training (Fig. 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.transition_results import MigrationMatrix
from bapo.figures.axes import accuracy_names
from bapo.figures.theme import Palette, accuracy_ramp, blended


class AccuracyCounts(NamedTuple):
    """Prompts per number of correct responses, 0..G, seen at both steps."""

    group_size: int
    before_name: str
    """Name of the first sampling, such as "step 0"."""
    after_name: str
    before: Sequence[int]
    after: Sequence[int]

    @property
    def num_prompts(self) -> int:
        """Prompts of all bars of a step."""
        return sum(self.before)

    @property
    def highest(self) -> int:
        """Prompts of the highest bar."""
        return max(*self.before, *self.after)


def shared_highest(panels: Sequence[AccuracyCounts]) -> list[int]:
    """Return the highest bar among the panels that count as many prompts as each: on one scale, equal counts are of
    equal height.

    A panel of another number of prompts, such as of two runs next to one, keeps a scale for itself.
    """
    return [max(each.highest for each in panels if each.num_prompts == panel.num_prompts) for panel in panels]


def accuracy_counts(matrix: MigrationMatrix, before_name: str, after_name: str) -> AccuracyCounts:
    """Return the margins of a matrix over the prompts that both steps have seen."""
    seen = [row[:-1] for row in matrix.counts[:-1]]
    return AccuracyCounts(
        len(seen) - 1,
        before_name,
        after_name,
        [sum(row) for row in seen],
        [sum(column) for column in zip(*seen, strict=True)],
    )


def accuracy_counts_figure(data: AccuracyCounts, palette: Palette, *, highest: int | None = None) -> go.Figure:
    """Draw pairs of bars in the ramp's colours: before is an outline, after is filled.

    `highest` is the bar that the axis leaves room for, where it is not the figure's own.
    """
    ramp = accuracy_ramp(palette, data.group_size)
    # The middle of the ramp is hardly darker than a light card.
    edges = [blended(colour, palette.text, 0.2) for colour in ramp]
    names = accuracy_names(data.group_size)[:-1]
    hover = "%{x} correct at %{fullData.name}: %{y:,} prompts<extra></extra>"
    figure = go.Figure(
        [
            go.Bar(
                x=names,
                y=data.before,
                name=data.before_name,
                marker={"color": palette.card, "line": {"color": edges, "width": 1.5}},
                hovertemplate=hover,
            ),
            go.Bar(
                x=names,
                y=data.after,
                name=data.after_name,
                marker={"color": ramp, "line": {"color": edges, "width": 1.5}},
                text=data.after,
                texttemplate="%{text:,}",
                textposition="outside",
                cliponaxis=False,
                hovertemplate=hover,
            ),
        ]
    )
    return figure.update_layout(
        height=300,
        hovermode="closest",
        barmode="group",
        bargap=0.25,
        bargroupgap=0.08,
        xaxis={"type": "category", "title": {"text": "correct responses of a prompt"}, "fixedrange": True},
        yaxis={
            "title": {"text": "prompts"},
            "tickformat": ",d",
            "fixedrange": True,
            # With room for the number on top of the bar.
            "range": [0, 1.12 * max(1, data.highest if highest is None else highest)],
        },
        legend={"itemclick": False, "itemdoubleclick": False},
        uirevision="counts",
    )
