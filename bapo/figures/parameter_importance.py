"""The share of the variance of a result that each field explains, with its interval and the level of chance."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.analysis.importance_results import Importance
from bapo.figures.panels import error_bars
from bapo.figures.theme import Palette

ROW_HEIGHT = 30
MOST_ROWS = 20


class ImportanceRow(NamedTuple):
    """A field or two, in percent of the variance."""

    label: str
    share: float
    low: float
    high: float
    null: float
    is_shown: bool


def parameter_importance_data(found: Importance, name_of: Callable[[str], str]) -> list[ImportanceRow]:
    """Return the largest shares, in percent; `name_of` gives a field's title."""
    return [
        ImportanceRow(
            " × ".join(map(name_of, each.fields)),
            100 * each.value,
            100 * each.low,
            100 * each.high,
            100 * each.null,
            each.is_shown,
        )
        for each in found.shares[:MOST_ROWS]
    ]


def importance_height(rows: Sequence[ImportanceRow]) -> int:
    """Return the height of the figure in pixels."""
    return 90 + ROW_HEIGHT * len(rows)


def parameter_importance_figure(rows: Sequence[ImportanceRow], palette: Palette) -> go.Figure:
    """Return a bar for each field, pale where it is within chance, and a dashed mark at the level of chance."""
    figure = go.Figure()
    places = list(range(len(rows)))
    figure.add_bar(
        x=[row.share for row in rows],
        y=places,
        orientation="h",
        marker={"color": [palette.fresh if row.is_shown else palette.reference for row in rows]},
        opacity=0.85,
        error_x=error_bars(
            [row.share for row in rows], [row.low for row in rows], [row.high for row in rows], palette.text
        ),
        customdata=[[row.low, row.high, row.null] for row in rows],
        hovertemplate="%{x:.1f} % [%{customdata[0]:.1f}, %{customdata[1]:.1f}], chance up to %{customdata[2]:.1f} %"
        "<extra></extra>",
        name="share of the variance",
        showlegend=False,
    )
    for place, row in enumerate(rows):
        figure.add_shape(
            type="line",
            x0=min(row.null, 100.0),
            x1=min(row.null, 100.0),
            y0=place - 0.42,
            y1=place + 0.42,
            line={"color": palette.mark, "width": 2, "dash": "dot"},
        )
    return figure.update_layout(
        xaxis={"title": {"text": "share of the variance in %"}, "range": [0, 100], "zeroline": False},
        yaxis={
            "tickvals": places,
            "ticktext": [html.escape(row.label) for row in rows],
            "range": [len(rows) - 0.5, -0.5],
            "automargin": True,
            "fixedrange": True,
        },
        bargap=0.45,
        margin={"l": 24, "r": 24, "t": 12, "b": 44},
        hovermode="closest",
    )
