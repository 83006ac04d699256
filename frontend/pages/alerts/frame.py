"""The heading and the tabs that the three pages of the alerts share."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from frontend.components.card import page_heading

TABS = (("Alerts", "/alerts"), ("Rules", "/alerts/rules"), ("Webhooks", "/alerts/webhooks"))


def page(current: str, *content: Any, action: Any = None) -> html.Div:
    """Returns the heading, the three tabs, and the content."""
    links = [
        dcc.Link(label, href=href, className="alerts-tab active" if href == current else "alerts-tab")
        for label, href in TABS
    ]
    return html.Div(
        [
            page_heading("Alerts", None, action),
            html.Nav(links, className="alerts-tabs"),
            *content,
        ]
    )
