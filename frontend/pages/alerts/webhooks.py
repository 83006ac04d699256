"""One's webhooks: how they stand, and the messages that were sent to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.webhooks import DeliveryInfo, WebhookInfo
from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.confirm import Question, confirm_dialog, question, when_agreed
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import error_text, notice, toast
from frontend.pages.alerts import frame
from frontend.pages.alerts.webhook_editing import editor, secret_dialog
from frontend.session import Api

REFRESH_MILLISECONDS = 2000
NUM_DELIVERIES = 30


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """The list; who only looks is told who has webhooks."""
    client = api.client()
    me = await client.me()
    projects = [project.name for project in me.projects if project.role != "viewer" and not project.is_archived]
    if me.role == "viewer" or not projects:
        text = "Webhooks are seen by those who made them and by the project's administrators."
        return frame.page("/alerts/webhooks", notice("Nothing to see here", text, icon_name="send"))
    page = await client.webhooks()
    return frame.page(
        "/alerts/webhooks",
        dcc.Store(id="webhooks-changed", data=0),
        dcc.Store(id="webhook-open"),
        html.Div(webhook_list(page.items), id="webhooks"),
        editor(projects),
        secret_dialog(),
        confirm_dialog("webhook"),
        dmc.Drawer(
            [
                html.Div(id="webhook-deliveries"),
                dcc.Interval(id="webhook-refresh", interval=REFRESH_MILLISECONDS, disabled=True),
            ],
            id="webhook-drawer",
            position="right",
            size="xl",
            title="Messages",
        ),
        action=dmc.Button("New webhook", id="webhook-new", leftSection=icon("plus", 16), size="xs"),
    )


def webhook_list(webhooks: Sequence[WebhookInfo]) -> list[Any]:
    """By name; where there are none, what they are for."""
    if not webhooks:
        text = (
            "A webhook is told when a run changes its state and when an alert opens or is over: a chat channel, ntfy, "
            "or a script of your own. Messages are signed, and tried again for a day."
        )
        return [notice("No webhooks yet", text, icon_name="send")]
    now = datetime.now(UTC)
    return [html.Div([_card(webhook, now) for webhook in webhooks], className="webhook-list")]


def _card(webhook: WebhookInfo, now: datetime) -> html.Div:
    def button(verb: str, label: str) -> dmc.Button:
        return dmc.Button(
            label,
            id={"type": "webhook-action", "verb": verb, "id": webhook.id, "name": webhook.name},
            size="compact-sm",
            variant="default",
            color="gray",
        )

    side = [
        _state(webhook),
        *([button("test", "Send a test")] if webhook.enabled else []),
        button("messages", "Messages"),
        button("edit", "Edit"),
        button("secret", "New secret"),
        dmc.ActionIcon(
            icon("trash", 16),
            id={"type": "webhook-action", "verb": "delete", "id": webhook.id, "name": webhook.name},
            variant="subtle",
            color="red",
            size="sm",
            **attributes(aria_label=f"Delete the webhook {webhook.name}"),
        ),
    ]
    waiting = f" · {webhook.num_waiting} waiting" if webhook.num_waiting else ""
    delivered = [" · last taken ", moment(webhook.last_delivered_at, now=now)] if webhook.last_delivered_at else []
    return html.Div(
        [
            html.Div(
                [
                    html.Div(webhook.name, className="rule-name"),
                    html.Code(webhook.url, className="webhook-url"),
                    html.Div(", ".join(webhook.events), className="rule-sentence"),
                    html.Div(
                        [f"{webhook.format} · {webhook.owner} · {webhook.project}{waiting}", *delivered],
                        className="queue-detail",
                    ),
                    html.Div(f"Switched off: {webhook.disabled_reason}", className="delivery-problem")
                    if webhook.disabled_reason
                    else None,
                ]
            ),
            html.Div(side, className="rule-side"),
        ],
        className="rule-card" if webhook.enabled else "rule-card off",
    )


def _state(webhook: WebhookInfo) -> dmc.Badge:
    if not webhook.enabled:
        return dmc.Badge("off", color="red" if webhook.disabled_reason else "gray", variant="light")
    if webhook.failing_since is not None:
        return dmc.Badge("failing", color="orange", variant="light")
    return dmc.Badge("on", color="green", variant="light")


def delivery_list(deliveries: Sequence[DeliveryInfo]) -> Any:
    """Messages with what became of them, the newest first."""
    if not deliveries:
        return dmc.Text("Nothing was sent yet. A test says whether messages arrive.", size="sm", c="dimmed")
    now = datetime.now(UTC)
    return html.Div([_delivery(each, now) for each in deliveries])


_COLOURS = {"delivered": "green", "waiting": "orange", "given_up": "red"}
_STATES = {"delivered": "taken", "waiting": "waiting", "given_up": "given up"}


def _delivery(delivery: DeliveryInfo, now: datetime) -> html.Div:
    tries = "not tried yet" if not delivery.num_tries else f"{delivery.num_tries} tries"
    head = [
        dmc.Badge(_STATES[delivery.state], color=_COLOURS[delivery.state], variant="light", size="sm"),
        html.Strong(delivery.event),
        html.Span(f"#{delivery.id}", className="queue-detail"),
        html.Span(moment(delivery.created_at, now=now), className="queue-detail"),
        html.Span("1 try" if delivery.num_tries == 1 else tries, className="queue-detail"),
        *([html.Span(f"{1000 * delivery.seconds:.0f} ms", className="queue-detail")] if delivery.seconds else []),
        dmc.Button(
            "Send now" if delivery.state == "waiting" else "Send again",
            id={"type": "delivery-send", "id": delivery.id},
            size="compact-xs",
            variant="default",
            color="gray",
        ),
    ]
    return html.Div(
        [
            html.Div(head, className="delivery-head"),
            html.Div(delivery.problem, className="delivery-problem") if delivery.problem else None,
            html.Details(
                [
                    html.Summary("Message and answer", className="queue-detail"),
                    html.Pre(json.dumps(delivery.body, indent=2, ensure_ascii=False), tabIndex=0),
                    html.Pre(delivery.response) if delivery.response else None,
                ]
            ),
        ],
        className="delivery",
    )


def register(app: Dash, api: Api) -> None:
    """Tests, messages, secrets and deleting."""
    _listing(app, api)
    _messages(app, api)
    _deleting(app, api)


def _listing(app: Dash, api: Api) -> None:
    @app.callback(Output("webhooks", "children"), Input("webhooks-changed", "data"), prevent_initial_call=True)
    async def refresh(_: int) -> Any:
        try:
            return webhook_list((await api.client().webhooks()).items)
        except (ApiError, httpx.TransportError) as error:
            return [dmc.Alert(error_text(error), color="yellow", variant="light")]


def _messages(app: Dash, api: Api) -> None:
    @app.callback(
        Output("webhook-drawer", "opened"),
        Output("webhook-drawer", "title"),
        Output("webhook-open", "data"),
        Output("webhook-deliveries", "children"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input({"type": "webhook-action", "verb": ALL, "id": ALL, "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    async def act(_: Any) -> Any:
        trigger: Any = ctx.triggered_id
        quiet = (no_update,) * 5
        if not any(each["value"] for each in ctx.triggered) or trigger["verb"] not in ("test", "messages"):
            return quiet
        try:
            if trigger["verb"] == "test":
                await api.client().test_webhook(trigger["id"])
            page = await api.client().deliveries(trigger["id"], limit=NUM_DELIVERIES)
        except (ApiError, httpx.TransportError) as error:
            return no_update, no_update, no_update, no_update, toast(error_text(error), title="Could not do that")
        return True, f"Messages to {trigger['name']}", trigger["id"], delivery_list(page.items), no_update

    @app.callback(Output("webhook-refresh", "disabled"), Input("webhook-drawer", "opened"))
    def follow(opened: bool) -> bool:
        return not opened

    @app.callback(
        Output("webhook-deliveries", "children", allow_duplicate=True),
        Input("webhook-refresh", "n_intervals"),
        Input({"type": "delivery-send", "id": ALL}, "n_clicks"),
        State("webhook-open", "data"),
        prevent_initial_call=True,
    )
    async def show(_: int | None, __: Any, webhook_id: str | None) -> Any:
        trigger: Any = ctx.triggered_id
        if webhook_id is None or not any(each["value"] for each in ctx.triggered):
            return no_update
        try:
            client = api.client()
            if isinstance(trigger, dict):
                await client.send_delivery_again(webhook_id, trigger["id"])
            return delivery_list((await client.deliveries(webhook_id, limit=NUM_DELIVERIES)).items)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="yellow", variant="light")


_QUESTIONS: Mapping[str, Question] = {
    "delete": Question(
        title="Delete this webhook?",
        text="Nothing is sent to it any more, and its messages are forgotten, also those that still wait.",
        button="Delete the webhook",
    ),
    "secret": Question(
        title="Sign with another secret?",
        text="From now on messages are signed with the new secret: its receiver refuses them until it knows it.",
        button="Make a new secret",
        colour="blue",
    ),
}


def _deleting(app: Dash, api: Api) -> None:
    @app.callback(
        Output(question("webhook"), "data"),
        Input({"type": "webhook-action", "verb": ALL, "id": ALL, "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def ask(_: Any) -> Any:
        trigger: Any = ctx.triggered_id
        if not any(each["value"] for each in ctx.triggered) or trigger["verb"] not in _QUESTIONS:
            return no_update
        about = {"verb": trigger["verb"], "id": trigger["id"]}
        return {**_QUESTIONS[trigger["verb"]], "subject": trigger["name"], "data": about}

    outputs = [Output(part, "data", allow_duplicate=True) for part in ("webhooks-changed", "webhook-secret")]

    @when_agreed(app, "webhook", outputs, [State("webhooks-changed", "data")])
    async def agreed(about: dict[str, str], changed: int) -> Any:
        if about["verb"] == "secret":
            made = await api.client().renew_webhook_secret(about["id"])
            return no_update, {"name": made.name, "secret": made.secret}
        await api.client().delete_webhook(about["id"])
        return changed + 1, no_update
