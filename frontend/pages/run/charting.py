"""Draws the charts of the open tab, and keeps them, the tiles and the header up to date."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api import RunDetail
from bapo.client import ApiError
from frontend.clientside import clientside
from frontend.components.chart_card import chart_card
from frontend.components.notices import error_text
from frontend.pages.run.charts import charts_of, drawn, is_empty, note_of
from frontend.pages.run.data import load
from frontend.pages.run.header import action_style, reason, status_row
from frontend.session import Api
from frontend.theme import palette_of, themed

ADDRESS = (
    Output("run-axis", "style"),
    Input("run-tabs", "value"),
    Input("run-x", "value"),
    State("run-axis-tabs", "data"),
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
        for chart in charts_of(tab, run.method)
    ]
    hint = (
        [dmc.Text(f"{run.method} keeps no buffers: nothing is re-evaluated or reused.", size="sm", c="dimmed", mt="sm")]
        if tab == "batch" and run.method in ("grpo", "grpo_delayed")
        else []
    )
    return [
        dcc.Store(id="charts-mounted", data=tab),
        dcc.Store(id="charts-drawn"),
        dcc.Store(id="charts-told"),
        html.Div(cards, className="chart-grid"),
        *hint,
    ]


def register(app: Dash, api: Api) -> None:
    """Drawing, and the state of the run."""

    @app.callback(
        Output("charts-drawn", "data"),
        Input("charts-mounted", "data"),
        Input("run-x", "value"),
        Input("scheme", "data"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        State("run-method", "data"),
    )
    async def draw(tab: str, x_kind: Any, scheme: str | None, _: int, run_id: str, method: str) -> Any:
        charts = charts_of(tab, method)
        try:
            data = await load(
                api.client(),
                run_id,
                keys=[key for chart in charts for key in chart.keys],
                needs=[need for chart in charts for need in chart.needs],
                x_kind=x_kind,
            )
        except (ApiError, httpx.TransportError) as error:
            return {"run": run_id, "tab": tab, "problem": error_text(error)}
        palette = palette_of(scheme)
        figures = {chart.name: drawn(chart, data, palette) for chart in charts}
        return {
            "run": run_id,
            "tab": tab,
            "x": x_kind,
            "method": method,
            "until": int(data.series.steps[-1]) if data.series.steps else 0,
            "figures": {name: themed(figure, palette) for name, figure in figures.items()},
            "empty": [name for name, figure in figures.items() if is_empty(figure)],
            "notes": {chart.name: note_of(chart, data) for chart in charts},
        }

    @app.callback(
        Output("run-status", "children"),
        Output("run-reason", "children"),
        Output({"type": "run-action", "verb": ALL}, "style"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def show_status(_: int, run_id: str) -> Any:
        verbs = [output["id"]["verb"] for output in ctx.outputs_list[2]]
        try:
            run = await api.client().run(run_id)
        except (ApiError, httpx.TransportError):
            # What is shown stays; the banner tells how old it is.
            return no_update, no_update, [no_update] * len(verbs)
        return status_row(run), reason(run), [action_style(run, verb) for verb in verbs]

    clientside(
        app,
        "live",
        "drawn",
        Output({"type": "chart", "name": ALL}, "figure"),
        Output({"type": "chart-card", "name": ALL}, "className"),
        Output({"type": "chart-note", "name": ALL}, "children"),
        Output("charts-told", "data"),
        Input("charts-drawn", "data"),
        State({"type": "chart-card", "name": ALL}, "className"),
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
