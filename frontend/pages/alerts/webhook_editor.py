"""Webhooks as cards, the secret of a new one, and the editor of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, get_args

import dash_mantine_components as dmc
from dash import ALL, Dash, Output, State, html
from pydantic import ValidationError

from bapo.api.webhooks import WebhookCreated, WebhookEvent, WebhookFormat, WebhookInfo, WebhookWrite
from bapo.client import AsyncClient
from frontend.components.actions import FormError, show, tell, when_pressed, when_submitted
from frontend.components.choices import choices, project_select, select
from frontend.components.controls import icon_button, small_button
from frontend.components.dialogs import form_drawer
from frontend.components.elements import Store
from frontend.components.notices import notice, one_time_secret
from frontend.components.text import moment
from frontend.pages.alerts import rule_card
from frontend.request.session import Api


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
    return rule_card(words, side, is_on=webhook.enabled)


def _state(webhook: WebhookInfo) -> dmc.Badge:
    if not webhook.enabled:
        return dmc.Badge("off", color="red" if webhook.disabled_reason else "gray", variant="light")
    if webhook.failing_since is not None:
        return dmc.Badge("failing", color="orange", variant="light")
    return dmc.Badge("on", color="green", variant="light")


FORMATS: dict[WebhookFormat, str] = {
    "json": "JSON, for scripts",
    "slack": "Slack",
    "discord": "Discord",
    "text": "Plain text, for ntfy",
}
assert set(FORMATS) == set(get_args(WebhookFormat)), "each format has a name"
USUAL_EVENTS = ("run.succeeded", "run.failed", "run.lost", "alert.opened")
VALUES = ("name", "url", "format", "events", "project")


def editor(projects: Sequence[str]) -> dmc.Drawer:
    """Return the drawer, which is closed until a webhook is created or edited."""
    fields = (
        Store(id="webhook-editing"),
        dmc.TextInput(id="webhook-name", label="Name", withAsterisk=True),
        dmc.TextInput(
            id="webhook-url",
            label="Address",
            description="https:// or http://, at a public address; the administrator permits others in "
            "BAPO_WEBHOOK_ALLOWED_HOSTS",
            placeholder="https://hooks.example.org/…",
            withAsterisk=True,
        ),
        select("webhook-format", "Format", "json", choices(FORMATS.items())),
        dmc.MultiSelect(
            id="webhook-events",
            label="Events",
            value=list(USUAL_EVENTS),
            data=list(get_args(WebhookEvent)),
            withAsterisk=True,
        ),
        project_select("webhook-project", projects, next(iter(projects), None)),
        dmc.Switch(id="webhook-enabled", label="On", checked=True, w="fit-content"),
    )
    return form_drawer("webhook", "Webhook", fields)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: opening and saving."""

    @when_pressed(
        app,
        "webhook-new",
        {"type": "webhook-edit", "id": ALL},
        outputs=[
            Output("webhook-drawer", "opened"),
            Output("webhook-drawer", "title"),
            Output("webhook-editing", "data"),
            *(Output(f"webhook-{field}", "value") for field in VALUES),
            Output("webhook-enabled", "checked"),
        ],
        states=[State("webhook-project", "value")],
    )
    async def open_editor(pressed: Any, project: str | None) -> Any:
        if pressed == "webhook-new":
            return True, "New webhook", None, "", "", "json", list(USUAL_EVENTS), project, True
        found = await api.client().webhook(pressed["id"])
        values = (found.name, found.url, found.format, list(found.events), found.project)
        return True, "Edit the webhook", found.id, *values, found.enabled

    @when_submitted(
        app,
        "webhook-submit",
        fields={field: f"webhook-{field}" for field in ("name", "url", "events")},
        problem="webhook-problem",
        states=[
            State("webhook-editing", "data"),
            State("webhook-enabled", "checked"),
            *(State(f"webhook-{field}", "value") for field in VALUES),
        ],
        outputs=[Output("webhook-drawer", "opened", allow_duplicate=True)],
    )
    async def save(editing: str | None, enabled: bool, *values: Any) -> bool:
        given = dict(zip(VALUES, values, strict=True)) | {"enabled": enabled}
        given |= {field: (given[field] or "").strip() for field in ("name", "url")}
        try:
            body = WebhookWrite.model_validate(given | {"events": given["events"] or []})
        except ValidationError as error:
            raise FormError.of(error) from error
        client = api.client()
        if editing is None:
            show_secret(await client.create_webhook(body))
        else:
            await client.replace_webhook(editing, body)
            tell(body.name, "Saved")
        await redraw_webhooks(client)
        return False
