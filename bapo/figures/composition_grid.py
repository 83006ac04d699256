"""Batch compositions of several runs or groups side by side (Figs. 8 and 14)."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from bapo.api.compare import CompareAxis, ComparedCurve
from bapo.figures.lines import area
from bapo.figures.looks import drawn_sources
from bapo.figures.overlay import AXES
from bapo.figures.panels import Panel, axis_of, panel_figure, titled
from bapo.figures.theme import Palette

Values = NDArray[np.float64]

X1, X2, X3, BATCH_SIZE = "bapo/batch/x1", "bapo/batch/x2", "bapo/batch/x3", "bapo/batch/batch_size"
KEYS = (X1, X2, X3, BATCH_SIZE)
MOST_PANELS = 12
"""Most panels, beyond which they are illegible; the other groups are named below."""
POINTS = 60
"""Stretches that each composition is averaged over: single steps jump, most of all every m-th."""
PANEL_HEIGHT = 170


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
    """Return counts divided by B; groups that lack one of the keys are left out, and those beyond `MOST_PANELS`.

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
    """Draw stacked shares of X1, X2 and X3 with B as a dashed line at 100 %, all panels on the same axes."""
    last = max((float(panel.x[-1]) for panel in data.panels if len(panel.x)), default=1.0)
    panels = []
    for index, panel in enumerate(data.panels):
        is_leftmost, is_lowest = index % columns == 0, index + columns >= len(data.panels)
        xaxis = {**AXES[data.x_kind], "range": [0, last], "nticks": 4}
        yaxis = titled("share of B", range=[0, 1.08], tickformat=".0%", nticks=4, fixedrange=True)
        yaxis["showticklabels"] = is_leftmost
        for axis, is_named in ((xaxis, is_lowest), (yaxis, is_leftmost)):
            if not is_named:
                del axis["title"]
        title = html.escape(_shortened(panel.label, 150 // columns))
        panels.append(Panel(title, _areas(panel, index, palette), xaxis, yaxis, html.escape(panel.label)))
    return panel_figure(
        panels,
        columns=columns,
        panel_height=PANEL_HEIGHT,
        shapes=[_full_batch(axis_of(index), palette) for index in range(len(panels))],
        hovermode="x unified",
        uirevision=data.x_kind,
    )


def _shortened(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _full_batch(suffix: str, palette: Palette) -> dict[str, Any]:
    line = {"color": palette.reference, "width": 1.5, "dash": "dash"}
    ends = {"x0": 0, "x1": 1, "y0": 1, "y1": 1}
    return {"type": "line", "xref": f"x{suffix} domain", "yref": f"y{suffix}", "line": line, **ends}


def _areas(panel: Composition, index: int, palette: Palette) -> list[go.Scatter]:
    suffix = axis_of(index)
    return [
        area(
            panel.x,
            shares,
            source.name,
            source.colour,
            stack=f"batch{suffix}",
            hover="%{y:.1%}",
            shape="linear",
            legendgroup=source.name,
            showlegend=index == 0,
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
        )
        for source, shares in zip(drawn_sources(palette), (panel.x1, panel.x2, panel.x3), strict=True)
    ]
