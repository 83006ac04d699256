"""Alerts, the rules that open them, and the webhooks that they are sent to: three pages under one heading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from frontend.components.card import page_heading
from frontend.components.elements import Link, attributes

TABS = (("Alerts", "/alerts"), ("Rules", "/alerts/rules"), ("Webhooks", "/alerts/webhooks"))


def alerts_page(current: str, *content: Any, action: Any = None) -> html.Div:
    """Return the heading, the three tabs, and the content."""
    links = [
        Link(label, href=href, className="alerts-tab active" if href == current else "alerts-tab")
        for label, href in TABS
    ]
    return html.Div(
        [
            page_heading("Alerts", None, action),
            html.Nav(links, className="alerts-tabs", **attributes(aria_label="Parts of Alerts")),
            *content,
        ]
    )


def rule_card(words: Sequence[Any], side: Sequence[Any], *, is_on: bool) -> html.Div:
    """Return the card of a rule or a webhook, with its controls at the side."""
    look = "rule-card" if is_on else "rule-card off"
    return html.Div([html.Div(words), html.Div(side, className="rule-side")], className=look)
