"""Opens the tabs of a run page."""

from __future__ import annotations

from typing import Any

import httpx
from dash import Dash, Input, Output, State, dcc, html

from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.notices import error_notice, error_text
from frontend.pages.run.charting import chart_panel
from frontend.pages.run.configuration import config_panel
from frontend.pages.run.samples import samples_panel
from frontend.session import Api


def log_panel() -> html.Div:
    """The trainer's output."""
    return html.Div(
        [
            dcc.Store(id="log-poke"),
            html.Pre("Loading …", id="log-text", className="log", tabIndex=0, **attributes(aria_label="Log")),
        ],
        className="panel-card",
    )


def register(app: Dash, api: Api) -> None:
    """Tabs, and the log."""

    @app.callback(
        Output("run-panel", "children"),
        Input("run-tabs", "value"),
        State("run-id", "data"),
    )
    async def open_tab(tab: str, run_id: str) -> Any:
        client = api.client()
        try:
            if tab == "samples":
                return samples_panel()
            if tab == "log":
                return log_panel()
            if tab == "history":
                return html.Div(id="history")
            run = await client.run(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_notice(error)
        return config_panel(run) if tab == "config" else chart_panel(run, tab)

    @app.callback(
        Output("log-text", "children"), Input("log-poke", "data"), Input("log-text", "id"), State("run-id", "data")
    )
    async def show_log(_: Any, __: str, run_id: str) -> Any:
        try:
            chunk = await api.client().log(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_text(error)
        return chunk.text or "The trainer has written nothing yet."
