"""Alerts, the rules that open them, and the webhooks that they are sent to: three pages under one heading."""

from __future__ import annotations

from dash import Dash

from frontend.pages.alerts import editing, listing, rules, webhook_editing, webhooks
from frontend.session import Api

alerts_layout = listing.layout
rules_layout = rules.layout
webhooks_layout = webhooks.layout

__all__ = ["alerts_layout", "register", "rules_layout", "webhooks_layout"]


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the three pages."""
    listing.register(app, api)
    rules.register(app, api)
    editing.register(app, api)
    webhooks.register(app, api)
    webhook_editing.register(app, api)
