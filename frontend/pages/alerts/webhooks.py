"""The caller's webhooks, how they are doing, and the messages that were sent to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html, set_props

from bapo.api.webhooks import DeliveryInfo
from bapo.client import AsyncClient
from frontend.components.actions import in_place, show, when_pressed
from frontend.components.card import new_button
from frontend.components.choices import writable_projects
from frontend.components.controls import small_button
from frontend.components.dialogs import confirm_dialog, drawer, when_asked
from frontend.components.elements import Interval, Store
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.components.text import moment
from frontend.pages.alerts import alerts_page
from frontend.pages.alerts.webhook_editor import editor, redraw_webhooks, show_secret, webhook_list
from frontend.request.session import Api

REFRESH_MILLISECONDS = 2000
NUM_DELIVERIES = 30


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the list; to those who may only look, it says who sees webhooks."""
    client = api.client()
    me = await client.me()
    projects = writable_projects(me)
    if me.role == "viewer" or not projects:
        text = "Webhooks are visible to those who created them and to administrators of the project."
        return alerts_page("/alerts/webhooks", notice("Nothing to see here", text, icon_name="send"))
    found = await client.webhooks()
    return alerts_page(
        "/alerts/webhooks",
        Store(id="webhook-open"),
        html.Div(id="webhook-secret"),
        html.Div(webhook_list(found.items), id="webhooks"),
        editor(projects),
        confirm_dialog("webhook-delete"),
        confirm_dialog("webhook-renew"),
        drawer(
            "deliveries",
            html.Div(id="webhook-deliveries"),
            Interval(id="webhook-refresh", interval=REFRESH_MILLISECONDS, disabled=True),
            title="Messages",
            size="xl",
        ),
        action=new_button("New webhook", "webhook-new", size="xs"),
    )


def delivery_list(deliveries: Sequence[DeliveryInfo]) -> Any:
    """Return the messages with what became of them, the newest first."""
    if not deliveries:
        return dmc.Text("Nothing has been sent yet. A test shows whether messages arrive.", size="sm", c="dimmed")
    now = datetime.now(UTC)
    return html.Div([_delivery(each, now) for each in deliveries])


_COLOURS = {"delivered": "green", "waiting": "orange", "given_up": "red"}


def _delivery(delivery: DeliveryInfo, now: datetime) -> html.Div:
    tries = "not tried yet" if not delivery.num_tries else f"{delivery.num_tries} tries"
    head = [
        dmc.Badge(delivery.state.replace("_", " "), color=_COLOURS[delivery.state], variant="light", size="sm"),
        html.Strong(delivery.event),
        html.Span(f"#{delivery.id}", className="queue-detail"),
        html.Span(moment(delivery.created_at, now=now), className="queue-detail"),
        html.Span("1 try" if delivery.num_tries == 1 else tries, className="queue-detail"),
        *([html.Span(f"{1000 * delivery.seconds:.0f} ms", className="queue-detail")] if delivery.seconds else []),
        small_button(
            "Send now" if delivery.state == "waiting" else "Send again", {"type": "delivery-send", "id": delivery.id}
        ),
    ]
    return html.Div(
        [
            html.Div(head, className="delivery-head"),
            html.Div(delivery.problem, className="delivery-problem") if delivery.problem else None,
            html.Details(
                [
                    html.Summary("Message and response", className="queue-detail"),
                    html.Pre(json.dumps(delivery.body, indent=2, ensure_ascii=False), tabIndex=0),
                    html.Pre(delivery.response) if delivery.response else None,
                ]
            ),
        ],
        className="delivery",
    )


PAGES = (Page("/alerts/webhooks", layout, section="alerts"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: tests, messages, secrets and deleting."""
    _messages(app, api)

    @when_asked(
        app,
        "webhook-delete",
        title="Delete this webhook?",
        text="Nothing is sent to it any more. Its messages are deleted, also those that are still waiting.",
        button="Delete the webhook",
    )
    async def delete(webhook_id: str) -> None:
        client = api.client()
        await client.delete_webhook(webhook_id)
        await redraw_webhooks(client)

    @when_asked(
        app,
        "webhook-renew",
        title="Replace the secret?",
        text="Messages are signed with the new secret from now on; the receiver refuses them until it knows it.",
        button="Create a new secret",
        colour="blue",
    )
    async def renew(webhook_id: str) -> None:
        show_secret(await api.client().renew_webhook_secret(webhook_id))


def _messages(app: Dash, api: Api) -> None:
    async def redraw(client: AsyncClient, webhook_id: str) -> None:
        show("webhook-deliveries", delivery_list((await client.deliveries(webhook_id, limit=NUM_DELIVERIES)).items))

    @when_pressed(
        app,
        {"type": "webhook-test", "id": ALL, "name": ALL},
        {"type": "webhook-messages", "id": ALL, "name": ALL},
        outputs=[Output("deliveries-drawer", "opened"), Output("webhook-open", "data")],
    )
    async def open_messages(pressed: Mapping[str, str]) -> Any:
        client = api.client()
        if pressed["type"] == "webhook-test":
            await client.test_webhook(pressed["id"])
        await redraw(client, pressed["id"])
        set_props("deliveries-drawer", {"title": f"Messages to {pressed['name']}"})
        return True, pressed["id"]

    @app.callback(Output("webhook-refresh", "disabled"), Input("deliveries-drawer", "opened"))
    def follow(opened: bool) -> bool:
        return not opened

    @when_pressed(
        app,
        Input("webhook-refresh", "n_intervals"),
        {"type": "delivery-send", "id": ALL},
        states=[State("webhook-open", "data")],
        on_error=in_place("webhook-deliveries"),
    )
    async def refresh(pressed: Any, webhook_id: str | None) -> None:
        if webhook_id is None:
            return
        client = api.client()
        if isinstance(pressed, dict):
            await client.send_delivery_again(webhook_id, pressed["id"])
        await redraw(client, webhook_id)
