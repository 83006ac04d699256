"""Tables in cards, which scroll sideways where the window is narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html


def cell(content: Any, look: str = "") -> html.Td:
    """Return a cell; `look` is its class, such as `number` or `nowrap`."""
    return html.Td(content, className=look)


def row(*cells: Any, look: str = "", attributes: Mapping[str, Any] | None = None) -> html.Tr:
    """Return a row; other content is wrapped in cells."""
    made = [each if isinstance(each, html.Td) else html.Td(each) for each in cells]
    return html.Tr(made, className=look, **(attributes or {}))


def table(
    head: Sequence[Any],
    rows: Sequence[Any],
    look: str,
    *,
    body: str | None = None,
    spacing: int = 10,
    least_width: int = 0,
) -> html.Div:
    """Return a table of plain elements, of which a page may have hundreds.

    `look` is its class, `body` the identifier of its rows; `spacing` and `least_width` in pixels.
    """
    filled = html.Tbody(list(rows)) if body is None else html.Tbody(list(rows), id=body)
    # A column of buttons has no title, and no header that a screen reader would read out.
    titles = [html.Th(title, className="nowrap", scope="col") if title else html.Td() for title in head]
    return html.Div(
        html.Table(
            [html.Thead(html.Tr(titles)), filled],
            className=f"card-table {look}".rstrip(),
            style={"--row-spacing": f"{spacing}px", "minWidth": least_width},
        ),
        className="table-scroll",
    )


def table_card(
    head: Sequence[Any], rows: Sequence[Any], look: str, *below: Any, spacing: int = 10, least_width: int = 0
) -> html.Div:
    """Return a table in a card."""
    return html.Div([table(head, rows, look, spacing=spacing, least_width=least_width), *below], className="panel-card")
