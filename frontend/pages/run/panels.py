"""Opens the tabs of a run page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, State

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from frontend.components.actions import on_failure
from frontend.components.markup import lean
from frontend.components.notices import error_notice
from frontend.page import query_of
from frontend.pages.run.tabs import BY_NAME, PAGE_KEYS, TABS
from frontend.session import Api


def view_of(tab: str, query: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the address that is meant for a tab; it may still hold what the tab before wrote."""
    is_of_tab = query.get("tab", TABS[0].name) == tab
    return {key: value for key, value in query.items() if is_of_tab or key in PAGE_KEYS}


async def panel(client: AsyncClient, run: RunDetail, tab: str, query: Mapping[str, str]) -> Any:
    """Return what a tab shows."""
    return lean(await BY_NAME[tab].panel(client, run, view_of(tab, query)))


def register(app: Dash, api: Api) -> None:
    """Register the callback that opens another tab; the page comes with its first."""

    @app.callback(
        Output("run-panel", "children"),
        Input("run-tabs", "value"),
        State("run-id", "data"),
        State("url", "search"),
        prevent_initial_call=True,
        on_error=on_failure(error_notice),
    )
    async def open_tab(tab: str, run_id: str, search: str | None) -> Any:
        client = api.client()
        return await panel(client, await client.run(run_id), tab, query_of(search))
