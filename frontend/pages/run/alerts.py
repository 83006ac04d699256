"""Open alerts of the run, beneath its head; they change as they open and are over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from dash import Dash, Input, Output, State, dcc, no_update

from bapo.client import ApiError, AsyncClient
from frontend.components.alert_cards import acknowledging, alert_cards
from frontend.components.notices import error_text, toast
from frontend.components.store_button import store_id
from frontend.session import Api

MOST_SHOWN = 3


async def panel(client: AsyncClient, run_id: str) -> list[Any]:
    """The newest open alerts that nobody acknowledged."""
    page = await client.alerts(run_id=run_id, state="unseen", limit=MOST_SHOWN)
    more = dcc.Link("All alerts of this run", href=f"/alerts?run={run_id}&state=all", className="fact-link")
    return [*alert_cards(page.items, page="run"), more] if page.items else []


def register(app: Dash, api: Api) -> None:
    """Telling what is new, and acknowledging."""

    @app.callback(
        Output("run-alerts", "children"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def follow(_: int, run_id: str) -> Any:
        try:
            return await panel(api.client(), run_id)
        except (ApiError, httpx.TransportError):
            return no_update

    @app.callback(
        Output("run-alerts", "children", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input(store_id(acknowledging("run")), "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def acknowledge(press: Mapping[str, Any] | None, run_id: str) -> Any:
        if not press:
            return no_update, no_update
        client = api.client()
        try:
            await client.acknowledge_alerts([press["id"]])
            return await panel(client, run_id), no_update
        except (ApiError, httpx.TransportError) as error:
            return no_update, toast(error_text(error), title="Could not acknowledge")
