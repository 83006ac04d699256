"""The layout of pages: the heading, and cards with a title."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.elements import attributes, figure_named
from frontend.components.icon import icon


def page_title(title: str) -> dmc.Title:
    """Return the one first-level heading of a page."""
    return dmc.Title(title, order=1, size="h2")


def page_heading(title: str, text: Any = None, *actions: Any) -> html.Div:
    """Return the heading of a page, with its buttons next to it and a sentence below."""
    row = dmc.Group(
        [
            page_title(title),
            dmc.Group([each for each in actions if each is not None], gap="xs", className="page-actions"),
        ],
        justify="space-between",
        mb="xs" if text else "md",
    )
    return html.Div([row, *([dmc.Text(text, size="sm", c="dimmed", mb="md")] if text else [])])


def crumbs(*parts: Any) -> html.Nav:
    """Return the way to a page from the lists above it."""
    trail = [each for part in parts for each in (html.Span("/", className="crumb-slash"), part)][1:]
    return html.Nav(trail, className="crumbs", **attributes(aria_label="Breadcrumb"))


def new_button(label: str, identifier: str, **properties: Any) -> dmc.Button:
    """Return a button that makes something."""
    return dmc.Button(label, id=identifier, leftSection=icon("plus", 16), **properties)


def section_title(title: str) -> html.H2:
    """Return the title of a part of a page."""
    return html.H2(title, className="section-title")


def card(*content: Any, title: str | None = None, look: str = "", **properties: Any) -> html.Section:
    """Return a card; `look` adds to its class."""
    return html.Section([*_head(title), *content], className=f"panel-card {look}".strip(), **properties)


def figure_card(*content: Any, title: str, look: str = "", **properties: Any) -> html.Div:
    """Return a card that is a figure, named by its title."""
    named = {**figure_named(title), **properties}
    return html.Div([*_head(title), *content], className=f"panel-card {look}".strip(), **named)


def _head(title: str | None) -> list[Any]:
    return [html.H2(title, className="chart-title")] if title else []


def tiles(*facts: tuple[str, str, str]) -> html.Div:
    """Return figures at a glance: label, value and note of each."""
    return html.Div(
        [
            html.Div(
                [
                    html.Span(label, className="tile-label"),
                    html.Div(value, className="tile-value"),
                    html.Div(note, className="queue-detail"),
                ],
                className="tile",
            )
            for label, value, note in facts
        ],
        className="tiles queue-tiles",
    )


def share_bar(value: float, low: float | None, high: float | None) -> html.Div:
    """Return a share as a bar with its interval, if it has one, on a scale from 0 to 1."""
    parts = [html.Div(className="finding-bar-value", style={"width": f"{100 * value:.1f}%"})]
    if low is not None and high is not None:
        low, high = max(0.0, low), min(1.0, high)
        place = {"left": f"{100 * low:.1f}%", "width": f"{100 * (high - low):.1f}%"}
        parts.append(html.Div(className="finding-bar-interval", style=place))
    return html.Div(parts, className="finding-bar", **attributes(aria_hidden="true"))
