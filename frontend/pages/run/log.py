"""The tab with the trainer's output."""

from __future__ import annotations

from typing import Any

import httpx
from dash import Dash, Input, Output, State, dcc, html

from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.notices import error_text
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
    """Fills the tab, and keeps it up to date."""

    @app.callback(
        Output("log-text", "children"), Input("log-poke", "data"), Input("log-text", "id"), State("run-id", "data")
    )
    async def show_log(_: Any, __: str, run_id: str) -> Any:
        try:
            chunk = await api.client().log(run_id)
        except (ApiError, httpx.TransportError) as error:
            return error_text(error)
        return chunk.text or "The trainer has written nothing yet."
