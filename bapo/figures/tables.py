"""Tables as text, and as figures for where only figures fit."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.number_format import bounds_text, within_share
from bapo.analysis.result import MeanEstimate
from bapo.figures import formatting
from bapo.figures.theme import Palette

ROW_HEIGHT = 28


class Cell(NamedTuple):
    """Text of one cell, and its small print."""

    text: str
    note: str = ""
    """Interval."""
    is_best: bool = False
    is_second: bool = False
    """Second to the best."""
    is_quoted: bool = False
    """True if the row quotes a publication; it is shown in grey."""


class Column(NamedTuple):
    """Heading of a column."""

    title: str
    group: str = ""
    """Heading of the column's group; columns of one group share it."""
    align: Literal["left", "right"] = "right"


class TextTable(NamedTuple):
    """Columns and rows of a table, as text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def percent_cell(value: MeanEstimate | None) -> Cell:
    """Return mean of shares as a percentage with its interval, as far as that can be a share."""
    if value is None:
        return Cell(formatting.MISSING)
    return Cell(formatting.share(value.value), bounds_text(value.low, value.high, within_share))


def spread_cell(value: MeanEstimate | None, text: Callable[[float], str]) -> Cell:
    """Return mean, ± half the interval unless that rounds to nothing."""
    if value is None:
        return Cell(formatting.MISSING)
    spread = "" if value.high is None else text(value.high - value.value)
    return Cell(text(value.value), f"± {spread}" if spread not in ("", text(0.0)) else "")


def table_figure(table: TextTable, palette: Palette) -> go.Figure:
    """Draw the table; notes in small type below their figures, the best in bold, the second underlined."""
    header = [
        html.escape(f"{column.group} {column.title}" if column.group else column.title) for column in table.columns
    ]
    columns = [[_markup(row[index], palette) for row in table.rows] for index in range(len(table.columns))]
    align = [column.align for column in table.columns]
    trace = go.Table(
        header={
            "values": [f"<b>{title}</b>" for title in header],
            "align": align,
            "fill": {"color": palette.page},
            "line": {"color": palette.border},
            "font": {"color": palette.muted, "size": 11},
        },
        cells={
            "values": columns,
            "align": align,
            "height": ROW_HEIGHT,
            "fill": {"color": palette.card},
            "line": {"color": palette.border},
            "font": {"color": palette.text, "size": 12},
        },
    )
    height = 60 + (len(table.rows) + 1) * ROW_HEIGHT * 2
    return go.Figure(trace, {"height": height, "margin": {"l": 8, "r": 8, "t": 8, "b": 8}})


def _markup(cell: Cell, palette: Palette) -> str:
    text = html.escape(cell.text)
    if cell.is_quoted:
        text = f'<span style="color:{palette.muted}">{text}</span>'
    if cell.is_best:
        text = f"<b>{text}</b>"
    if cell.is_second:
        text = f"<u>{text}</u>"
    return f"{text}<br><sub>{html.escape(cell.note)}</sub>" if cell.note else text
