"""The card of a chart: title, question, graph, a small menu, and a place for notes and for an empty state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from frontend.components.elements import Graph, attributes, figure_named
from frontend.components.icon import explained, icon


def chart_heading(title: str, explanation: str, question: str = "") -> html.Div:
    """Return the title with its explanation on hover, and below it the question that the chart answers."""
    head = html.Div([html.H2(title, className="chart-title"), explained(explanation)], className="chart-heading")
    return html.Div([head, *([html.Div(question, className="chart-question")] if question else [])])


def table_button(title: str) -> html.Button:
    """Return the button of a figure without a menu that shows it as a table (assets/charts_table.js)."""
    label = "Show as table"
    named = attributes(data_chart_table="", aria_label=f"{label}: {title}", aria_haspopup="dialog")
    return html.Button(label, className="text-button", type="button", **named)


def only_chart(graph_id: str, title: str, explanation: str, *, height: int) -> html.Div:
    """Return the card of a page's one chart: without a menu, as a table at a press. The page's callback fills it."""
    heading = [html.H2(title, className="chart-title"), explained(explanation), table_button(title)]
    graph = Graph(graph_id, style={"height": height}, look="chart-graph")
    return html.Div(
        [
            html.Div(heading, className="chart-heading"),
            html.Div(graph, className="chart-body", style={"minHeight": height}),
        ],
        className="chart-card prompt-history",
        **figure_named(title),
    )


def chart_card(
    name: str,
    title: str,
    explanation: str,
    *,
    question: str = "",
    height: int = 260,
    wide: bool = False,
    empty: str = "No data yet.",
    kind: str = "chart",
    has_axis: bool = False,
    tools: Sequence[Any] = (),
) -> html.Div:
    """Return a card of fixed size whose graph the page's callback fills; `name` is unique on the page.

    `question`: what the chart answers, below its title. Cards of another `kind` are filled by their own script.
    `has_axis`: its x-axis can be chosen. `tools` are shown next to its menu.
    """
    # One menu serves all charts of a page (assets/charts_menu.js): a component for each entry would cost more than all
    # graphs.
    menu = html.Button(
        icon("menu", 16),
        className="chart-menu-button",
        type="button",
        **attributes(aria_label=f"Menu of {title}", aria_haspopup="menu"),
    )
    head = html.Div(
        [
            chart_heading(title, explanation, question),
            html.Div(
                [html.Span(id={"type": f"{kind}-note", "name": name}, className="chart-note"), *tools, menu],
                className="chart-tools",
            ),
        ],
        className="chart-head",
    )
    body = html.Div(
        [
            Graph({"type": kind, "name": name}, style={"height": height}, look="chart-graph"),
            html.Div(empty, className="chart-empty"),
        ],
        className="chart-body",
        style={"minHeight": height},
    )
    return html.Div(
        [head, body],
        id={"type": f"{kind}-card", "name": name},
        className="chart-card loading wide" if wide else "chart-card loading",
        **figure_named(title, data_chart=name, **({"data_axis": "own"} if has_axis else {})),
    )
