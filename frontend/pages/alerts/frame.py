"""The heading that the three pages share."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

TABS = (("Alerts", "/alerts"), ("Rules", "/alerts/rules"), ("Webhooks", "/alerts/webhooks"))


def page(current: str, *content: Any, action: Any = None) -> html.Div:
    """Heading, the three tabs, and the content."""
    links = [
        dcc.Link(label, href=href, className="alerts-tab active" if href == current else "alerts-tab")
        for label, href in TABS
    ]
    return html.Div(
        [
            dmc.Group([dmc.Title("Alerts", order=2), action], justify="space-between", mb="xs"),
            html.Nav(links, className="alerts-tabs"),
            *content,
        ]
    )
