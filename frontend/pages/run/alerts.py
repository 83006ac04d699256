"""Open alerts of the run, beneath its head; they change as they open and are over."""

from __future__ import annotations

from typing import Any

import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, no_update

from bapo.client import ApiError, AsyncClient
from frontend.components.notices import error_text, toast
from frontend.pages.alerts.listing import alert_cards
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
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("run-reload", "data"),
        Input({"type": "alert-acknowledge", "page": "run", "id": ALL}, "n_clicks"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def show(_: int, __: Any, run_id: str) -> Any:
        trigger: Any = ctx.triggered_id
        client = api.client()
        try:
            if isinstance(trigger, dict):
                if not any(each["value"] for each in ctx.triggered):
                    return no_update, no_update
                await client.acknowledge_alerts([trigger["id"]])
            return await panel(client, run_id), no_update
        except httpx.TransportError:
            return no_update, no_update
        except ApiError as error:
            return no_update, toast(error_text(error), title="Could not acknowledge")
