"""Staleness of the groups that a run trains on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.records import StalenessSeries
from bapo.figures.axes import XAxis, over_training
from bapo.figures.heat import heat_map
from bapo.figures.looks import drawn_sources
from bapo.figures.theme import Palette


class StalenessTotals(NamedTuple):
    """Groups trained on by age, per source."""

    ages: Sequence[int]
    """step - 1 - version of the policy that generated the group."""
    counts: Mapping[str, Sequence[int]]


class StalenessCourse(NamedTuple):
    """Shares of the groups of each column; `shares[a][i]` belongs to age `ages[a]` and column i."""

    axis: XAxis
    x: Sequence[Any]
    ages: Sequence[int]
    shares: Sequence[Sequence[float | None]]
    counts: Sequence[Sequence[int]]


def staleness_totals(staleness: StalenessSeries) -> StalenessTotals:
    """Sum over all steps; ages between that do not occur count 0."""
    ages = list(range(max(staleness.ages) + 1)) if staleness.ages else []
    counts = {}
    for source, table in staleness.counts.items():
        sums = dict(zip(staleness.ages, (sum(column) for column in zip(*table, strict=True)), strict=False))
        counts[source] = [sums.get(age, 0) for age in ages]
    return StalenessTotals(ages, counts)


def staleness_course(staleness: StalenessSeries, axis: XAxis) -> StalenessCourse:
    """Count the groups of all sources by age, column by column; a column without a group is a gap."""
    num_columns = len(staleness.steps)
    counts = [
        [sum(table[column][row] for table in staleness.counts.values()) for column in range(num_columns)]
        for row in range(len(staleness.ages))
    ]
    totals = [sum(row[column] for row in counts) for column in range(num_columns)]
    shares = [[count / total if total else None for count, total in zip(row, totals, strict=True)] for row in counts]
    return StalenessCourse(axis, [axis.at(step) for step in staleness.steps], staleness.ages, shares, counts)


def staleness_totals_figure(data: StalenessTotals, palette: Palette) -> go.Figure:
    """Draw bars stacked by source."""
    total = sum(sum(counts) for counts in data.counts.values())
    bars = [
        go.Bar(
            x=data.ages,
            y=data.counts.get(source, []),
            customdata=[100 * count / max(1, total) for count in data.counts.get(source, [])],
            name=name,
            marker={"color": colour},
            hovertemplate="%{y:,d} groups, %{customdata:.1f} % of all",
        )
        for source, name, colour in drawn_sources(palette)
    ]
    return go.Figure(
        bars,
        {
            "barmode": "stack",
            "bargap": 0.2,
            "height": 260,
            "xaxis": {
                "title": {"text": "age in steps: step − 1 − version of the policy"},
                "tickformat": ",d",
                "unifiedhovertitle": {"text": "age %{x} steps"},
                # Whole numbers only.
                **({"dtick": 1} if len(data.ages) <= 20 else {}),
            },
            "yaxis": {"title": {"text": "groups so far"}, "tickformat": "~s"},
            "uirevision": "totals",
        },
    )


def staleness_course_figure(data: StalenessCourse, palette: Palette) -> go.Figure:
    """Return a heat map: how much of each batch was how old."""
    heat = heat_map(
        palette,
        "share of groups",
        {"tickformat": ".0%"},
        x=data.x,
        y=[str(age) for age in data.ages],
        z=[[share or None for share in row] for row in data.shares],
        customdata=data.counts,
        zmin=0,
        zmax=1,
        hovertemplate="age %{y}: %{customdata:,d} groups, %{z:.1%}<extra></extra>",
    )
    yaxis = {"type": "category", "title": {"text": "age in steps"}, "showgrid": False, "nticks": 12}
    return over_training([heat], data.axis, yaxis=yaxis, hovermode="closest")
