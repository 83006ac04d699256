"""Alerts, the rules that open them, and the webhooks that they are sent to: three pages under one heading."""

from __future__ import annotations

from dash import Dash

from frontend.components.page import Page
from frontend.pages.alerts import overview, rule_editor, rules, webhook_editor, webhooks
from frontend.request.session import Api

PAGES = (
    Page("/alerts", overview.layout, section="alerts"),
    Page("/alerts/rules", rules.layout, section="alerts"),
    Page("/alerts/webhooks", webhooks.layout, section="alerts"),
)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the three pages."""
    overview.register(app, api)
    rules.register(app, api)
    rule_editor.register(app, api)
    webhooks.register(app, api)
    webhook_editor.register(app, api)
