"""Open alerts of the run, below its heading; they follow what the rules find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, State

from bapo.client import AsyncClient
from frontend.components.actions import in_toast, show, unchanged, when_pressed
from frontend.components.alert_cards import acknowledging, alert_cards
from frontend.components.elements import Link, pressed_in
from frontend.request.session import Api

MOST_SHOWN = 3


async def panel(client: AsyncClient, run_id: str) -> list[Any]:
    """Return the newest open alerts that are not acknowledged."""
    page = await client.alerts(run_id=run_id, state="unseen", limit=MOST_SHOWN)
    more = Link("All alerts of this run", href=f"/alerts?run={run_id}&state=all", className="fact-link")
    return [*alert_cards(page.items, page="run"), more] if page.items else []


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: following and acknowledging."""

    @app.callback(
        Output("run-alerts", "children"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def follow(_: int, run_id: str) -> Any:
        return await panel(api.client(), run_id)

    @when_pressed(
        app,
        pressed_in(acknowledging("run")),
        states=[State("run-id", "data")],
        on_error=in_toast("Not acknowledged"),
    )
    async def acknowledge(press: Mapping[str, Any], run_id: str) -> None:
        client = api.client()
        await client.acknowledge_alerts([press["id"]])
        show("run-alerts", await panel(client, run_id))
