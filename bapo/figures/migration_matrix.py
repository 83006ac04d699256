"""The matrix of prompts by accuracy at one step and at another (Fig. 15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.transition_results import MigrationMatrix
from bapo.figures.axes import accuracy_names, matrix_axes
from bapo.figures.theme import Palette, blended, readable_on

_SCALE = ((0.0, 0.0), (0.02, 0.08), (0.1, 0.25), (0.3, 0.55), (0.6, 0.85), (1.0, 1.0))
"""Share of a row → strength of its colour: most cells hold little."""
_FURTHEST = 0.5
"""Difference of shares at which its colour is full."""


class MigrationCells(NamedTuple):
    """Rows before, columns after; the last of either is "not seen" where some prompt was not."""

    group_size: int
    before: str
    """Name of the rows, such as "step 0"."""
    after: str
    counts: Sequence[Sequence[int]]
    shares: Sequence[Sequence[float | None]]
    """Shares of each row; None if the row is empty."""
    chance: Sequence[Sequence[float | None]] | None
    """The same shares when nothing but chance moves prompts."""


def migration_cells(
    matrix: MigrationMatrix, before: str, after: str, null: MigrationMatrix | None = None
) -> MigrationCells:
    """Return the cells to draw: prompts that were seen neither before nor after are none, an empty last row is left
    out."""
    group_size = len(matrix.counts) - 2
    counts = [list(row) for row in matrix.counts]
    counts[-1][-1] = 0
    rows = group_size + 1 + any(counts[-1])
    columns = group_size + 1 + any(row[-1] for row in counts)
    chance = None
    if null is not None:
        chance = [row[:columns] for row in row_shares(null.counts)[:rows]]
    return MigrationCells(
        group_size,
        before,
        after,
        [row[:columns] for row in counts[:rows]],
        [row[:columns] for row in row_shares(counts)[:rows]],
        chance,
    )


def row_shares(counts: Sequence[Sequence[int]]) -> list[list[float | None]]:
    """Return each cell as a share of its row; None in an empty row."""
    totals = [sum(row) for row in counts]
    return [[count / total if total else None for count in row] for row, total in zip(counts, totals, strict=True)]


def migration_matrix_figure(data: MigrationCells, palette: Palette, *, difference: bool = False) -> go.Figure:
    """Return a heat map of row shares with the counts as text, the row of the unsolved in red; 0/G is the first row.

    With `difference`, percentage points above or below chance instead.
    """
    if difference and data.chance is not None:
        figure = _differences(data, data.chance, palette)
    else:
        figure = _shares(data, palette)
    num_columns = len(data.counts[0])
    outlines = [_outline(k, k, palette.border, 1) for k in range(data.group_size + 1)]
    outlines.append(_outline(0, 0, palette.ramp[0], 1.5, width=num_columns))
    return figure.update_layout(
        height=400,
        hovermode="closest",
        showlegend=False,
        shapes=outlines,
        **matrix_axes(f"correct at {data.before}", f"correct at {data.after}"),
    )


def _shares(data: MigrationCells, palette: Palette) -> go.Figure:
    """Draw the shares; the row of the unsolved has a separate colour scale, and so is a separate trace."""
    nothing = [None] * len(data.counts[0])
    figure = go.Figure()
    colours: list[Sequence[str]] = []
    for is_first, colour in ((True, palette.ramp[0]), (False, palette.text)):
        scale = [(place, blended(palette.card, colour, strength)) for place, strength in _SCALE]
        cells = [shares if (row == 0) == is_first else nothing for row, shares in enumerate(data.shares)]
        figure.add_trace(_heat_map(data, cells, scale, span=(0, 1)))
        colours += [[_colour_at(scale, share) for share in row] for row in (cells[:1] if is_first else cells[1:])]
    texts = [[f"{count:,}" if count else "" for count in row] for row in data.counts]
    return figure.add_trace(_texts(data, texts, colours, palette))


def _differences(data: MigrationCells, chance: Sequence[Sequence[float | None]], palette: Palette) -> go.Figure:
    cells = [
        [None if now is None or by_chance is None else now - by_chance for now, by_chance in zip(*rows, strict=True)]
        for rows in zip(data.shares, chance, strict=True)
    ]
    less, more = palette.series[1], palette.series[0]
    scale = [
        (0.0, less),
        (0.35, blended(palette.card, less, 0.5)),
        (0.5, palette.card),
        (0.65, blended(palette.card, more, 0.5)),
        (1.0, more),
    ]
    colours = [
        [_colour_at(scale, None if cell is None else 0.5 + cell / (2 * _FURTHEST)) for cell in row] for row in cells
    ]
    texts = [[_points(cell) for cell in row] for row in cells]
    figure = go.Figure(_heat_map(data, cells, scale, span=(-_FURTHEST, _FURTHEST)))
    return figure.add_trace(_texts(data, texts, colours, palette))


def _heat_map(
    data: MigrationCells,
    cells: Sequence[Sequence[float | None]],
    scale: Sequence[tuple[float, str]],
    span: tuple[float, float],
) -> go.Heatmap:
    rows, columns = _names(data)
    return go.Heatmap(
        x=columns,
        y=rows,
        z=cells,
        # What an export as a table says.
        customdata=data.counts,
        hovertext=[_facts(data, row) for row in range(len(rows))],
        hovertemplate=f"%{{y}} at {data.before} → %{{x}} at {data.after}<br>%{{hovertext}}<extra></extra>",
        zmin=span[0],
        zmax=span[1],
        colorscale=[list(stop) for stop in scale],
        showscale=False,
        xgap=1,
        ygap=1,
        hoverongaps=False,
    )


def _texts(
    data: MigrationCells, texts: Sequence[Sequence[str]], colours: Sequence[Sequence[str]], palette: Palette
) -> go.Scatter:
    rows, columns = _names(data)
    return go.Scatter(
        x=[column for _ in rows for column in columns],
        y=[row for row in rows for _ in columns],
        # Plotly throws an empty text away for good: a later number would have no place.
        text=[text or " " for row in texts for text in row],
        mode="text",
        textfont={"color": [readable_on(colour, palette) for row in colours for colour in row], "size": 11},
        hoverinfo="skip",
    )


def _names(data: MigrationCells) -> tuple[list[str], list[str]]:
    names = accuracy_names(data.group_size)
    return names[: len(data.counts)], names[: len(data.counts[0])]


def _colour_at(scale: Sequence[tuple[float, str]], place: float | None) -> str:
    """Return the colour of a scale at a place, 0..1: that of the nearest stop."""
    if place is None:
        return scale[0][1]
    return min(scale, key=lambda stop: abs(stop[0] - place))[1]


def _points(difference: float | None) -> str:
    """Format percentage points with their sign; empty if they round to none."""
    rounded = 0 if difference is None else round(100 * difference)
    return f"{rounded:+d}".replace("-", "−") if rounded else ""


def _facts(data: MigrationCells, row: int) -> list[str]:
    """Return the count of each cell of a row, its share of the row, and the share by chance."""
    by_chance = data.chance[row] if data.chance is not None else [None] * len(data.counts[row])
    return [
        f"{count:,} prompts"
        + ("" if share is None else f", {100 * share:.1f} % of the row")
        + ("" if chance is None else f"<br>by chance {100 * chance:.1f} %")
        for count, share, chance in zip(data.counts[row], data.shares[row], by_chance, strict=True)
    ]


def _outline(row: int, column: int, colour: str, line_width: float, *, width: int = 1) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column - 0.5 + width,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": colour, "width": line_width},
    }
