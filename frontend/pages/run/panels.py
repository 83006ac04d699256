"""Opens the tabs of a run page."""

from __future__ import annotations

from typing import Any

import httpx
from dash import Dash, Input, Output, State

from bapo.client import ApiError
from frontend.components.notices import error_notice
from frontend.pages.run.tabs import BY_NAME
from frontend.session import Api
from frontend.shell import query_of


def register(app: Dash, api: Api) -> None:
    """Tabs."""

    @app.callback(
        Output("run-panel", "children"),
        Input("run-tabs", "value"),
        State("run-id", "data"),
        State("url", "search"),
    )
    async def open_tab(tab: str, run_id: str, search: str | None) -> Any:
        client = api.client()
        try:
            return await BY_NAME[tab].panel(client, await client.run(run_id), query_of(search))
        except (ApiError, httpx.TransportError) as error:
            return error_notice(error)
