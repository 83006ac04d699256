"""Several small charts in one figure, side by side; narrow pages put them below one another (assets/paper.js)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

PANEL_HEIGHT = 230
GAP_HEIGHT = 78
"""Between two rows, in pixels: axis title and the next row's title."""
GAP_WIDTH = 0.075
"""Between two columns, as a share of the width."""
LEGEND_ROW = 20
SIDES = {"l": 56, "r": 16, "b": 46}
HEAD_HEIGHT = 34
"""Above the panels: their titles. The legend comes on top."""
USUAL_WIDTH = 1100
"""Usual page width, in pixels, for which the legend is laid out here."""
MOST_COLUMNS = 3


class Panel(NamedTuple):
    """One chart of several."""

    title: str
    traces: Sequence[go.Scatter | go.Bar]
    """Placed on the axes `axis_of` names."""
    xaxis: Mapping[str, Any]
    yaxis: Mapping[str, Any]
    whole_title: str = ""
    """Whole title, if it is shortened; shown on hover."""


def axis_of(index: int) -> str:
    """Return the suffix of a panel's axes in plotly: "", "2", "3" …"""
    return "" if index == 0 else str(index + 1)


def titled(title: str, **settings: Any) -> dict[str, Any]:
    """Return an axis with a title."""
    return {"title": {"text": title}, **settings}


def error_bars(
    values: Sequence[float], lows: Sequence[float | None], highs: Sequence[float | None], colour: str
) -> dict[str, Any]:
    """Return bars from each value to its bounds; none if a bound is not known."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if high is None else high - value for value, high in zip(values, highs, strict=True)],
        "arrayminus": [0.0 if low is None else value - low for value, low in zip(values, lows, strict=True)],
        "color": colour,
        "thickness": 1.5,
        "width": 4,
    }


STEP_AXIS: Mapping[str, Any] = titled(
    "step", tickformat=",d", rangemode="tozero", unifiedhovertitle={"text": "step %{x:,d}"}
)


def panel_figure(
    panels: Sequence[Panel],
    *,
    columns: int = MOST_COLUMNS,
    panel_height: int = PANEL_HEIGHT,
    shapes: Iterable[Mapping[str, Any]] = (),
    annotations: Iterable[Mapping[str, Any]] = (),
    **layout: Any,
) -> go.Figure:
    """Lay out panels in rows of at most `columns`, with one legend above all of them.

    `layout.meta` holds what a page needs to arrange them otherwise: `panels`, `columns` and `panel_height`.
    """
    columns = max(1, min(columns, len(panels)))
    rows = -(-len(panels) // columns)
    area = max(1, rows * panel_height + (rows - 1) * GAP_HEIGHT)
    width = (1 - (columns - 1) * GAP_WIDTH) / columns
    axes: dict[str, Any] = {}
    titles = []
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        left = column * (width + GAP_WIDTH)
        top = 1 - row * (panel_height + GAP_HEIGHT) / area
        suffix = axis_of(index)
        axes[f"xaxis{suffix}"] = {**panel.xaxis, "domain": [left, min(1.0, left + width)], "anchor": f"y{suffix}"}
        bottom = max(0.0, top - panel_height / area)
        axes[f"yaxis{suffix}"] = {**panel.yaxis, "domain": [bottom, top], "anchor": f"x{suffix}"}
        titles.append(
            {
                "text": panel.title,
                "name": f"panel {index}",
                "x": left,
                "xref": "paper",
                "xanchor": "left",
                "y": top,
                "yref": "paper",
                "yanchor": "bottom",
                "yshift": 4,
                "showarrow": False,
                "font": {"size": 12.5},
                **({"hovertext": panel.whole_title} if panel.whole_title else {}),
            }
        )
    traces = [trace for panel in panels for trace in panel.traces]
    head = HEAD_HEIGHT + LEGEND_ROW * legend_rows([trace.name for trace in traces if trace.showlegend is not False])
    return go.Figure(
        traces,
        {
            **axes,
            "height": area + head + SIDES["b"],
            "margin": {**SIDES, "t": head},
            "annotations": [*titles, *annotations],
            "shapes": list(shapes),
            "legend": {"y": 1 + 30 / area},
            "meta": {"panels": len(panels), "columns": columns, "panel_height": panel_height},
            **layout,
        },
    )


def legend_rows(names: Sequence[str], width: int = USUAL_WIDTH) -> int:
    """Return rows that a legend above the panels takes: entries in columns as wide as the longest, unless one row holds
    all.

    assets/paper.js counts them in the same way for other widths.
    """
    widths = [52 + 6.4 * len(name) for name in names]
    if sum(widths) <= width:
        return min(1, len(widths))
    return -(-len(widths) // max(1, int(width // max(widths))))
