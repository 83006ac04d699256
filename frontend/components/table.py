"""Tables in cards, which scroll sideways where the window is narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html


def cell(content: Any, look: str = "") -> dmc.TableTd:
    """Returns a cell; `look` is its class, such as `number` or `nowrap`."""
    return dmc.TableTd(content, className=look)


def row(*cells: Any, look: str = "", attributes: Mapping[str, Any] | None = None) -> dmc.TableTr:
    """Returns a row; what is no cell yet becomes one."""
    made = [each if isinstance(each, dmc.TableTd) else dmc.TableTd(each) for each in cells]
    return dmc.TableTr(made, className=look, **(attributes or {}))


def table(
    head: Sequence[Any], rows: Sequence[Any], look: str, *, body: str | None = None, **properties: Any
) -> dmc.ScrollArea:
    """Returns a table; `look` is its class, `body` the identifier of its rows."""
    named = {} if body is None else {"id": body}
    return dmc.ScrollArea(
        dmc.Table(
            [
                # A column of buttons has no title, and no header that a screen reader would read out.
                dmc.TableThead(
                    dmc.TableTr([dmc.TableTh(title, className="nowrap") if title else dmc.TableTd() for title in head])
                ),
                dmc.TableTbody(list(rows), **named),
            ],
            className=look,
            **{"verticalSpacing": "xs", **properties},
        ),
        type="auto",
    )


def table_card(head: Sequence[Any], rows: Sequence[Any], look: str, *below: Any, **properties: Any) -> html.Div:
    """Returns a table in a card."""
    return html.Div([table(head, rows, look, **properties), *below], className="panel-card")
