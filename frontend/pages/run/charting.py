"""Draws the charts of the open tab, and keeps them, the tiles and the header up to date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api import RunDetail
from bapo.client import ApiError
from frontend.clientside import clientside
from frontend.components.chart_card import chart_card
from frontend.components.notices import error_text
from frontend.components.tile import tile
from frontend.pages.run.charts import BY_NAME, charts_of, drawn, is_empty, note_of
from frontend.pages.run.data import load
from frontend.pages.run.header import ACTIONS, action_style, status_row
from frontend.pages.run.live import delta
from frontend.pages.run.tiles import load_tiles
from frontend.session import Api
from frontend.theme import palette_of

ADDRESS = (
    Output("url", "search"),
    Output("run-axis", "style"),
    Input("run-tabs", "value"),
    Input("run-x", "value"),
    State("url", "search"),
)
"""The tab and the axis stand in the address."""


def chart_panel(run: RunDetail, tab: str) -> list[Any]:
    """The cards of a tab, still without data."""
    cards = [
        chart_card(
            chart.name,
            chart.title,
            chart.explanation,
            height=chart.height,
            wide=chart.wide,
            empty=chart.empty,
        )
        for chart in charts_of(tab, run)
    ]
    hint = (
        [dmc.Text(f"{run.method} keeps no buffers: nothing is re-evaluated or reused.", size="sm", c="dimmed", mt="sm")]
        if tab == "batch" and run.method in ("grpo", "grpo_delayed")
        else []
    )
    return [
        dcc.Store(id="charts-mounted", data=tab),
        dcc.Store(id="charts-shown"),
        dcc.Store(id="charts-told"),
        html.Div(cards, className="chart-grid"),
        *hint,
    ]


def register(app: Dash, api: Api) -> None:
    """Drawing, appending, and the header."""

    @app.callback(
        Output({"type": "chart", "name": ALL}, "figure"),
        Output({"type": "chart-card", "name": ALL}, "className"),
        Output({"type": "chart-note", "name": ALL}, "children"),
        Output("charts-shown", "data"),
        Input("charts-mounted", "data"),
        Input("run-x", "value"),
        Input("scheme", "data"),
        Input("run-reload", "data"),
        State("run-id", "data"),
    )
    async def draw(tab: str, x_kind: Any, scheme: str | None, _: int, run_id: str) -> Any:
        names: Sequence[str] = [output["id"]["name"] for output in ctx.outputs_list[0]]
        charts = [BY_NAME[name] for name in names]
        client = api.client()
        try:
            run = await client.run(run_id)
            data = await load(
                client,
                run,
                keys=[key for chart in charts for key in chart.keys],
                needs=[need for chart in charts for need in chart.needs],
                x_kind=x_kind,
            )
        except (ApiError, httpx.TransportError) as error:
            count = len(charts)
            message = error_text(error)
            return [no_update] * count, [no_update] * count, [message] * count, no_update
        palette = palette_of(scheme)
        figures = [drawn(chart, data, palette) for chart in charts]
        classes = [
            " ".join(("chart-card", "wide" if chart.wide else "narrow", "empty" if is_empty(figure) else "ready"))
            for chart, figure in zip(charts, figures, strict=True)
        ]
        shown = {"run": run_id, "tab": tab, "until": int(data.series.steps[-1]) if data.series.steps else 0}
        return figures, classes, [note_of(chart, data) for chart in charts], shown

    @app.callback(
        Output("run-tiles", "children"),
        Input("scheme", "data"),
        Input("run-reload", "data"),
        State("run-id", "data"),
    )
    async def show_tiles(scheme: str | None, _: int, run_id: str) -> Any:
        client = api.client()
        palette = palette_of(scheme)
        try:
            contents = await load_tiles(client, await client.run(run_id), palette)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light", className="tiles-error")
        return [tile(content, palette) for content in contents]

    @app.callback(
        Output("run-status", "children"),
        Output({"type": "run-action", "verb": ALL}, "style"),
        Output("run-tiles", "children", allow_duplicate=True),
        Output("run-delta", "data"),
        Input("run-poke", "data"),
        State("run-id", "data"),
        State("run-tabs", "value"),
        State("run-x", "value"),
        State("scheme", "data"),
        prevent_initial_call=True,
    )
    async def update(poke: Any, run_id: str, tab: str, x_kind: Any, scheme: str | None) -> Any:
        client = api.client()
        palette = palette_of(scheme)
        try:
            run = await client.run(run_id)
            contents = await load_tiles(client, run, palette) if poke["tiles"] else None
            news = await delta(client, run, tab, x_kind, poke, palette)
        except (ApiError, httpx.TransportError) as error:
            failed = {"seq": poke["seq"], "failed": error_text(error)}
            return no_update, [no_update] * len(ACTIONS), no_update, failed
        styles = [action_style(run, output["id"]["verb"]) for output in ctx.outputs_list[1]]
        shown = no_update if contents is None else [tile(content, palette) for content in contents]
        return status_row(run), styles, shown, news

    clientside(app, "live", "shown", Output("charts-told", "data"), Input("charts-shown", "data"))
    clientside(
        app,
        "live",
        "apply",
        Output("run-applied", "data"),
        Input("run-delta", "data"),
        initial=False,
    )
    clientside(
        app,
        "charts",
        "menu",
        Output("run-menu", "data"),
        Input({"type": "chart-menu", "name": ALL, "action": ALL}, "n_clicks"),
        initial=False,
    )
