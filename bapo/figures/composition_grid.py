"""Batch compositions of several runs or groups side by side (Figs. 8 and 14)."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bapo.api.compare import CompareAxis, ComparedCurve
from bapo.figures.overlay import AXES
from bapo.figures.theme import Palette, translucent

Values = NDArray[np.float64]

X1, X2, X3, BATCH_SIZE = "bapo/batch/x1", "bapo/batch/x2", "bapo/batch/x3", "bapo/batch/batch_size"
KEYS = (X1, X2, X3, BATCH_SIZE)
MOST_PANELS = 12
"""More are not told apart; the others are named below."""
POINTS = 60
"""Stretches that each composition is averaged over: single steps jump, most of all every m-th."""
PANEL_HEIGHT, GAP = 170, 44


class Composition(NamedTuple):
    """Groups trained on as shares of B, by source."""

    label: str
    x: Values
    x1: Values
    x2: Values
    x3: Values


class CompositionGrid(NamedTuple):
    """One panel for each run or group."""

    x_kind: CompareAxis
    panels: Sequence[Composition]


def composition_grid_data(
    curves: Mapping[str, Sequence[ComparedCurve]], x_kind: CompareAxis, names: Mapping[str, str]
) -> CompositionGrid:
    """Counts divided by B; groups that lack one of the keys are left out, and those beyond `MOST_PANELS`.

    `names` are the groups' labels as the curves have them and as people read them.
    """
    by_label = {key: {curve.label: curve for curve in curves.get(key, ())} for key in KEYS}
    scale = 1 / 60 if x_kind == "time" else 1.0
    panels = []
    for label, name in names.items():
        found = [by_label[key].get(label) for key in KEYS]
        known = [curve for curve in found if curve is not None]
        if len(known) == len(KEYS):
            x1, x2, x3, size = (np.array(curve.mean, dtype=np.float64) for curve in known)
            panels.append(Composition(name, np.array(known[0].x) * scale, x1 / size, x2 / size, x3 / size))
    return CompositionGrid(x_kind, panels[:MOST_PANELS])


def composition_grid_figure(data: CompositionGrid, palette: Palette, *, columns: int) -> go.Figure:
    """Stacked shares of X1, X2 and X3 with B as a dashed line at 100 %, all panels on the same axes."""
    num_rows = max(1, -(-len(data.panels) // columns))
    height = num_rows * (PANEL_HEIGHT + GAP) + 40
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"t": 56},
        "hovermode": "x unified",
        "uirevision": data.x_kind,
        "annotations": [],
        "shapes": [],
    }
    ends = [float(panel.x[-1]) for panel in data.panels if len(panel.x)]
    traces: list[dict[str, Any]] = []
    for index, panel in enumerate(data.panels):
        row, column = divmod(index, columns)
        number = "" if index == 0 else str(index + 1)
        left, right = column / columns, (column + 0.9) / columns
        top = 1 - row / num_rows
        bottom = top - PANEL_HEIGHT / (PANEL_HEIGHT + GAP) / num_rows
        traces += _areas(panel, number, palette, is_first=index == 0)
        layout[f"xaxis{number}"] = {
            "domain": [left, right],
            "anchor": f"y{number}",
            "range": [0, max(ends, default=1.0)],
            "tickformat": AXES[data.x_kind].get("tickformat", ""),
            "nticks": 4,
            **({"title": {"text": AXES[data.x_kind]["title"]["text"]}} if index + columns >= len(data.panels) else {}),
        }
        layout[f"yaxis{number}"] = {
            "domain": [bottom, top],
            "anchor": f"x{number}",
            "range": [0, 1.08],
            "tickformat": ".0%",
            "nticks": 4,
            "fixedrange": True,
            "showticklabels": column == 0,
            **({"title": {"text": "share of B"}} if column == 0 else {}),
        }
        layout["annotations"].append(
            {
                "text": html.escape(_shortened(panel.label, 150 // columns)),
                "hovertext": html.escape(panel.label),
                "x": left,
                "xref": "paper",
                "xanchor": "left",
                "y": top,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"color": palette.text, "size": 12},
            }
        )
        layout["shapes"].append(
            {
                "type": "line",
                "xref": f"x{number} domain",
                "yref": f"y{number}",
                "x0": 0,
                "x1": 1,
                "y0": 1,
                "y1": 1,
                "line": {"color": palette.reference, "width": 1.5, "dash": "dash"},
            }
        )
    # Further from the panels than their titles, however many rows there are.
    layout["legend"] = {"y": 1 + 26 / max(1, height - 100), "yanchor": "bottom"}
    return go.Figure({"data": traces, "layout": layout})


def _shortened(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _areas(panel: Composition, number: str, palette: Palette, *, is_first: bool) -> list[dict[str, Any]]:
    sources = (
        ("X1 fresh", panel.x1, palette.fresh),
        ("X2 re-evaluated", panel.x2, palette.reevaluated),
        ("X3 reused", panel.x3, palette.reused),
    )
    return [
        {
            "type": "scatter",
            "x": panel.x,
            "y": shares,
            "name": name,
            "legendgroup": name,
            "showlegend": is_first,
            "stackgroup": f"batch{number}",
            "mode": "lines",
            "line": {"width": 0.5, "color": colour},
            "fillcolor": translucent(colour, 0.85),
            "hovertemplate": "%{y:.1%}",
            "xaxis": f"x{number}",
            "yaxis": f"y{number}",
        }
        for name, shares, colour in sources
    ]
