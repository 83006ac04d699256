"""Threshold map: the role of a group with k correct responses at every mean accuracy r_tot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.configs import ThresholdMapRow
from bapo.figures.theme import Palette, translucent

ROLE_NAMES = {
    "nothing": "not used",
    "difficult": "difficult: re-evaluated later",
    "fresh": "trained on when fresh (X1)",
    "difficult+fresh": "X1, and difficult",
    "fresh+reusable": "X1, and reusable (X3)",
    "difficult+reusable": "difficult, and reusable (X3)",
    "difficult+fresh+reusable": "X1, difficult and reusable",
    "reusable": "reusable (X3)",
}
"""Legend texts, in legend order; roles are sorted within a name."""

MOST_UPRIGHT = 9
"""Largest group size whose labels k/G fit side by side in the narrowest card; those of larger ones are turned."""
FEWEST_LISTED = 2
"""Roles that have a legend."""


class ThresholdMap(NamedTuple):
    """Rows by r_tot, columns by k."""

    group_size: int
    r_tot: Sequence[float]
    roles: Sequence[Sequence[str]]
    """`roles[i][k]` at `r_tot[i]`; a key of ROLE_NAMES."""


def threshold_map_data(rows: Sequence[ThresholdMapRow]) -> ThresholdMap:
    """Normalise the order of joined roles."""
    roles = [["+".join(sorted(role.split("+"))) for role in row.roles] for row in rows]
    return ThresholdMap(max(len(roles[0]) - 1, 1) if roles else 1, [row.r_tot for row in rows], roles)


def starved_intervals(data: ThresholdMap) -> list[tuple[float, float]]:
    """Return ranges of r_tot whose rows have nothing reusable, if others have; both ends are rows."""
    has = [any("reusable" in role for role in row) for row in data.roles]
    if not any(has):
        # The method reuses nothing, whatever r_tot is.
        return []
    gaps: list[tuple[float, float]] = []
    for r_tot, reusable, before in zip(data.r_tot, has, [True, *has], strict=False):
        if not reusable:
            gaps.append((gaps.pop()[0], r_tot) if not before else (r_tot, r_tot))
    return gaps


def _colours(palette: Palette) -> dict[str, str]:
    return {
        "nothing": palette.grid,
        "difficult": palette.ramp[0],
        "fresh": translucent(palette.fresh, 0.45),
        "difficult+fresh": palette.reevaluated,
        "fresh+reusable": palette.reused,
        "difficult+reusable": palette.ramp[1],
        "difficult+fresh+reusable": palette.mark,
        "reusable": translucent(palette.reused, 0.5),
    }


def _margin(group_size: int, num_roles: int) -> dict[str, Any]:
    """Return room for the labels and the legend.

    Plotly would find the same by drawing all, measuring, and drawing all again: it moves the legend, whose top is 0.2
    heights below the plot, with the margin.
    """
    if group_size > MOST_UPRIGHT or num_roles < FEWEST_LISTED:
        return {}
    return {"t": 14, "b": round((19 * num_roles + 95.1) / 1.2), "autoexpand": False}


def threshold_map_figure(data: ThresholdMap, palette: Palette) -> go.Figure:
    """Return a heat map of roles with a legend of those that occur."""
    present = [role for role in ROLE_NAMES if any(role in row for row in data.roles)]
    index = {role: number for number, role in enumerate(present)}
    colours = _colours(palette)
    scale: list[Any] = []
    for number, role in enumerate(present):
        scale += [[number / len(present), colours[role]], [(number + 1) / len(present), colours[role]]]
    figure = go.Figure(
        go.Heatmap(
            x=[f"{k}/{data.group_size}" for k in range(data.group_size + 1)],
            y=list(data.r_tot),
            z=[[index[role] + 0.5 for role in row] for row in data.roles],
            text=[[ROLE_NAMES[role] for role in row] for row in data.roles],
            hovertemplate="accuracy %{x} at r_tot = %{y:.2f}<br>%{text}<extra></extra>",
            zmin=0,
            zmax=max(len(present), 1),
            colorscale=scale or None,
            showscale=False,
            xgap=2,
        )
    )
    for role in present:
        figure.add_scatter(
            x=[None],
            y=[None],
            name=ROLE_NAMES[role],
            mode="markers",
            marker={"symbol": "square", "size": 10, "color": colours[role]},
        )
    half = 0.5 / max(len(data.r_tot) - 1, 1)
    for low, high in starved_intervals(data):
        figure.add_shape(
            type="rect", xref="paper", x0=0, x1=1, y0=low - half, y1=high + half,
            line={"color": palette.reevaluated, "width": 2, "dash": "dot"},
        )  # fmt: skip
        figure.add_annotation(
            text="nothing reusable", xref="paper", x=1, y=high + half, xanchor="right", yanchor="top", showarrow=False,
            font={"size": 11, "color": palette.text}, bgcolor=palette.card, bordercolor=palette.reevaluated,
        )  # fmt: skip
    return figure.update_layout(
        height=400,
        hovermode="closest",
        xaxis={"title": {"text": "accuracy of a group, k of G correct"}, "type": "category", "showline": False},
        yaxis={"title": {"text": "mean accuracy r_tot"}, "range": [0, 1], "showgrid": False},
        legend={"itemclick": False, "itemdoubleclick": False, "y": -0.2, "yanchor": "top", "orientation": "v"},
        margin=_margin(data.group_size, len(present)),
        uirevision="map",
    )
