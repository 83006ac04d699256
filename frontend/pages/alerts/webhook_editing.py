"""Making and changing a webhook; its secret is shown once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update
from pydantic import ValidationError

from bapo.api.webhooks import WebhookEvent, WebhookFormat, WebhookWrite
from bapo.client import ApiError
from frontend.components.notices import error_text, toast
from frontend.session import Api

FORMATS: dict[WebhookFormat, str] = {
    "json": "JSON, for scripts",
    "slack": "Slack",
    "discord": "Discord",
    "text": "Plain text, for ntfy",
}
assert set(FORMATS) == set(get_args(WebhookFormat)), "each format has a name"
USUAL_EVENTS = ("run.succeeded", "run.failed", "run.lost", "alert.opened")
_FIELDS = ("name", "url", "events")


def editor(projects: Sequence[str]) -> dmc.Drawer:
    """Closed until a webhook is made or edited."""
    return dmc.Drawer(
        dmc.Stack(
            [
                dcc.Store(id="webhook-editing"),
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
                    data=[{"value": value, "label": label} for value, label in FORMATS.items()],
                    allowDeselect=False,
                    comboboxProps={"withinPortal": True},
                ),
                dmc.MultiSelect(
                    id="webhook-events",
                    label="What it is told",
                    value=list(USUAL_EVENTS),
                    data=list(get_args(WebhookEvent)),
                    withAsterisk=True,
                    comboboxProps={"withinPortal": True},
                ),
                dmc.Select(
                    id="webhook-project",
                    label="Project",
                    value=projects[0] if projects else None,
                    data=list(projects),
                    allowDeselect=False,
                    style={} if len(projects) > 1 else {"display": "none"},
                    comboboxProps={"withinPortal": True},
                ),
                dmc.Switch(id="webhook-enabled", label="On", checked=True, w="fit-content"),
                html.Div(id="webhook-problem"),
                dmc.Group([dmc.Button("Save", id="webhook-save")], justify="flex-end"),
            ],
            gap="sm",
        ),
        id="webhook-editor",
        position="right",
        size="lg",
        title="Webhook",
    )


def secret_dialog() -> html.Div:
    """Shows a secret until it is closed."""
    return html.Div(
        [
            dcc.Store(id="webhook-secret"),
            dmc.Modal(
                dmc.Stack(
                    [
                        html.Div(id="webhook-secret-name", className="rule-name"),
                        dmc.Text(
                            "Give it to the receiver now: it is not shown again. Messages are signed with it, see "
                            "docs/webhooks.md.",
                            size="sm",
                        ),
                        html.Div(
                            [
                                html.Code("", id="webhook-secret-text"),
                                dcc.Clipboard(target_id="webhook-secret-text", title="Copy the secret"),
                            ],
                            className="secret",
                        ),
                        dmc.Group([dmc.Button("I have it", id="webhook-secret-close")], justify="flex-end"),
                    ]
                ),
                id="webhook-secret-dialog",
                title="The webhook's secret",
                centered=True,
                closeOnClickOutside=False,
            ),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Opening, saving, and the secret."""
    _opening(app, api)
    _saving(app, api)

    @app.callback(
        Output("webhook-secret-dialog", "opened"),
        Output("webhook-secret-name", "children"),
        Output("webhook-secret-text", "children"),
        Input("webhook-secret", "data"),
        Input("webhook-secret-close", "n_clicks"),
        prevent_initial_call=True,
    )
    def show_secret(made: dict[str, str] | None, clicks: int | None) -> Any:
        if ctx.triggered_id == "webhook-secret-close":
            return (False, "", "") if clicks else (no_update,) * 3
        return (True, made["name"], made["secret"]) if made else (no_update,) * 3


def _opening(app: Dash, api: Api) -> None:
    @app.callback(
        Output("webhook-editor", "opened"),
        Output("webhook-editor", "title"),
        Output("webhook-editing", "data"),
        Output("webhook-name", "value"),
        Output("webhook-url", "value"),
        Output("webhook-format", "value"),
        Output("webhook-events", "value"),
        Output("webhook-project", "value"),
        Output("webhook-enabled", "checked"),
        Input("webhook-new", "n_clicks"),
        Input({"type": "webhook-action", "verb": ALL, "id": ALL, "name": ALL}, "n_clicks"),
        State("webhook-project", "value"),
        prevent_initial_call=True,
    )
    async def show(clicks: int | None, _: Any, project: str | None) -> Any:
        trigger: Any = ctx.triggered_id
        quiet = (no_update,) * 9
        if trigger == "webhook-new":
            new = (True, "New webhook", None, "", "", "json", list(USUAL_EVENTS), project, True)
            return new if clicks else quiet
        if not any(each["value"] for each in ctx.triggered) or trigger["verb"] != "edit":
            return quiet
        try:
            found = await api.client().webhook(trigger["id"])
        except (ApiError, httpx.TransportError):
            return quiet
        return (
            *(True, "Edit the webhook", found.id, found.name, found.url, found.format),
            *(list(found.events), found.project, found.enabled),
        )


def _saving(app: Dash, api: Api) -> None:
    @app.callback(
        Output("webhook-editor", "opened", allow_duplicate=True),
        Output("webhooks-changed", "data", allow_duplicate=True),
        Output("webhook-secret", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("webhook-problem", "children"),
        Output("webhook-name", "error"),
        Output("webhook-url", "error"),
        Output("webhook-events", "error"),
        Input("webhook-save", "n_clicks"),
        State("webhook-editing", "data"),
        State("webhook-name", "value"),
        State("webhook-url", "value"),
        State("webhook-format", "value"),
        State("webhook-events", "value"),
        State("webhook-project", "value"),
        State("webhook-enabled", "checked"),
        State("webhooks-changed", "data"),
        running=[(Output("webhook-save", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def save(
        clicks: int | None,
        editing: str | None,
        name: str,
        url: str,
        format_: str,
        events: list[str],
        project: str | None,
        enabled: bool,
        changed: int,
    ) -> Any:
        if not clicks:
            return (no_update,) * 8
        content: dict[str, Any] = {"name": (name or "").strip(), "url": (url or "").strip(), "format": format_}
        content |= {"events": events or [], "project": project, "enabled": enabled}
        marks, alert, secret = dict.fromkeys(_FIELDS, ""), "", None
        try:
            body = WebhookWrite.model_validate(content)
            client = api.client()
            if editing is None:
                made = await client.create_webhook(body)
                secret = {"name": made.name, "secret": made.secret}
            else:
                await client.replace_webhook(editing, body)
        except ValidationError as error:
            marks |= {str(finding["loc"][0]): finding["msg"] for finding in error.errors()}
        except (ApiError, httpx.TransportError) as error:
            if isinstance(error, ApiError) and error.body.field in _FIELDS:
                marks[error.body.field] = error.body.remedy
            else:
                alert = dmc.Alert(error_text(error), color="red", variant="light")
        shown = [alert, *(marks[field] for field in _FIELDS)]
        if alert or any(marks.values()):
            return no_update, no_update, no_update, no_update, *shown
        told = no_update if secret else toast(body.name, title="Saved", colour="green")
        return False, changed + 1, secret or no_update, told, *shown
