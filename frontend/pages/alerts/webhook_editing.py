"""The editor of a webhook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import dash_mantine_components as dmc
from dash import ALL, Dash, Output, State
from pydantic import ValidationError

from bapo.api.webhooks import WebhookEvent, WebhookFormat, WebhookWrite
from frontend.components.actions import FormError, tell, when_pressed, when_submitted
from frontend.components.choices import choices, project_select
from frontend.components.dialog import form_drawer
from frontend.components.store import Store
from frontend.pages.alerts.webhook_cards import redraw_webhooks, show_secret
from frontend.session import Api

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
        dmc.Select(
            id="webhook-format",
            label="Format",
            value="json",
            data=choices(FORMATS.items()),
            allowDeselect=False,
        ),
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
