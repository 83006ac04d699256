"""The tabs of a run page, with what makes their panels, and the callback that opens them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from dash import Dash, Input, Output, State, html

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.config.method import is_trainable
from frontend.components.actions import on_failure
from frontend.components.elements import attributes
from frontend.components.markup import lean
from frontend.components.notices import error_notice
from frontend.components.page import query_of
from frontend.pages.run.artifacts import artifacts_panel
from frontend.pages.run.chart_panel import chart_panel, recorded_for
from frontend.pages.run.charts.off_policy import reading_of
from frontend.pages.run.chat import chat_panel
from frontend.pages.run.configuration import config_panel
from frontend.pages.run.difficulty import difficulty_panel
from frontend.pages.run.log import log_panel
from frontend.pages.run.prompts import prompts_panel
from frontend.pages.run.samples import samples_panel
from frontend.pages.run.walk import walk_panel
from frontend.pages.run.warm_start import warm_start_line
from frontend.pages.run.what_if import what_if_panel
from frontend.request.session import Api

Panel = Callable[[AsyncClient, RunDetail, Mapping[str, str]], Awaitable[Any]]
"""Makes a tab's content from the client, the run and the address's query, which holds the view that a link restores."""


class Tab(NamedTuple):
    """One tab; its panel is made when it is opened, and removed when it is left."""

    name: str
    """Name in the address: `?tab=batch`."""
    label: str
    panel: Panel
    has_axis: bool = False
    """True if the x-axis of its charts can be chosen."""


def _of_run(content: Callable[[RunDetail, Mapping[str, str]], Any]) -> Panel:
    """Return a panel that asks the server for nothing beyond the run."""

    async def panel(_: AsyncClient, run: RunDetail, query: Mapping[str, str]) -> Any:
        return content(run, query)

    return panel


def _charts(tab: str) -> Panel:
    async def panel(client: AsyncClient, run: RunDetail, _: Mapping[str, str]) -> Any:
        return chart_panel(run, tab, await recorded_for(client, run, tab))

    return panel


async def _overview(client: AsyncClient, run: RunDetail, _: Mapping[str, str]) -> Any:
    return [
        *await warm_start_line(client, run),
        *chart_panel(run, "overview", await recorded_for(client, run, "overview")),
    ]


async def _off_policy(client: AsyncClient, run: RunDetail, _: Mapping[str, str]) -> Any:
    return [*chart_panel(run, "off-policy", await recorded_for(client, run, "off-policy")), reading_of(run)]


def _history(_: RunDetail, query: Mapping[str, str]) -> html.Div:
    return html.Div(id="history", **attributes(data_mark=query.get("mark", "")))


def _findings(_: RunDetail, __: Mapping[str, str]) -> html.Div:
    return html.Div(id="findings", className="findings", **attributes(aria_live="off"))


TABS: tuple[Tab, ...] = (
    Tab("overview", "Overview", _overview, has_axis=True),
    Tab("batch", "Batch", _charts("batch"), has_axis=True),
    Tab("difficulty", "Difficulty", _of_run(lambda run, _: difficulty_panel(run)), has_axis=True),
    Tab("findings", "Findings", _of_run(_findings)),
    Tab("walk", "Step by step", _of_run(walk_panel)),
    Tab("what-if", "What-if", what_if_panel),
    Tab("prompts", "Prompts", _of_run(prompts_panel)),
    Tab("samples", "Samples", _of_run(samples_panel)),
    Tab("chat", "Try it", chat_panel),
    Tab("off-policy", "Off-policy", _off_policy, has_axis=True),
    Tab("system", "System", _charts("system"), has_axis=True),
    Tab("log", "Log", _of_run(log_panel)),
    Tab("config", "Config", _of_run(config_panel)),
    Tab("artifacts", "Artifacts", artifacts_panel),
    Tab("history", "History", _of_run(_history)),
)
_OF_OUR_TRAINER = frozenset({"chat", "off-policy", "log", "artifacts"})
"""Tabs of what only a trainer of ours records or leaves behind."""


def tabs_of(run: RunDetail) -> list[Tab]:
    """Return the tabs that mean something for the run."""
    return [tab for tab in TABS if is_trainable(run.method) or tab.name not in _OF_OUR_TRAINER]


PAGE_KEYS = frozenset({"tab", "x", "smooth"})
"""Parts of the address's query that hold for every tab; the others belong to the open one (assets/run.js)."""
BY_NAME: Mapping[str, Tab] = {tab.name: tab for tab in TABS}


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
