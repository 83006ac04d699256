"""Webhooks as cards, and the secret of a new one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.webhooks import WebhookCreated, WebhookInfo
from bapo.client import AsyncClient
from frontend.components.actions import show
from frontend.components.controls import icon_button, small_button
from frontend.components.moment import moment
from frontend.components.notices import notice
from frontend.components.one_time_secret import one_time_secret
from frontend.pages.alerts import frame


async def redraw_webhooks(client: AsyncClient) -> None:
    """Show the webhooks as they are now."""
    show("webhooks", webhook_list((await client.webhooks()).items))


def show_secret(made: WebhookCreated) -> None:
    """Show the secret of a webhook, once."""
    note = "Give it to the receiver: messages are signed with it, see docs/webhooks.md. It is not shown again."
    show("webhook-secret", one_time_secret(f"Secret of {made.name}", made.secret, note))


def webhook_list(webhooks: Sequence[WebhookInfo]) -> list[Any]:
    """Return the webhooks by name; without any, what they are for."""
    if not webhooks:
        text = (
            "A webhook sends a message when a run changes its state and when an alert opens or is resolved: to a chat "
            "channel, ntfy, or a script of your own. Messages are signed, and retried for a day."
        )
        return [notice("No webhooks yet", text, icon_name="send")]
    now = datetime.now(UTC)
    return [html.Div([_card(webhook, now) for webhook in webhooks], className="webhook-list")]


def _card(webhook: WebhookInfo, now: datetime) -> html.Div:
    def button(kind: str, label: str, **more: str) -> dmc.Button:
        identifier = {"type": kind, "id": webhook.id, **more}
        return small_button(label, identifier, size="compact-sm")

    side = [
        _state(webhook),
        *([button("webhook-test", "Send a test", name=webhook.name)] if webhook.enabled else []),
        button("webhook-messages", "Messages", name=webhook.name),
        button("webhook-edit", "Edit"),
        button("webhook-renew", "New secret", name=webhook.name),
        icon_button(
            "trash",
            f"Delete the webhook {webhook.name}",
            id={"type": "webhook-delete", "id": webhook.id, "name": webhook.name},
        ),
    ]
    waiting = f" · {webhook.num_waiting} waiting" if webhook.num_waiting else ""
    delivered = [" · last delivered ", moment(webhook.last_delivered_at, now=now)] if webhook.last_delivered_at else []
    facts = [f"{webhook.format} · {webhook.owner} · {webhook.project}{waiting}", *delivered]
    problem = webhook.disabled_reason and f"Switched off: {webhook.disabled_reason}"
    words = [
        html.Div(webhook.name, className="rule-name"),
        html.Code(webhook.url, className="webhook-url", title=webhook.url),
        html.Div(", ".join(webhook.events), className="rule-sentence"),
        html.Div(facts, className="queue-detail"),
        html.Div(problem, className="delivery-problem") if problem else None,
    ]
    return frame.card(words, side, is_on=webhook.enabled)


def _state(webhook: WebhookInfo) -> dmc.Badge:
    if not webhook.enabled:
        return dmc.Badge("off", color="red" if webhook.disabled_reason else "gray", variant="light")
    if webhook.failing_since is not None:
        return dmc.Badge("failing", color="orange", variant="light")
    return dmc.Badge("on", color="green", variant="light")
