"""One run: its state, progress, live charts and actions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures.axes import X_KINDS
from frontend.components.actions import FAILURES
from frontend.components.alert_cards import acknowledging
from frontend.components.choices import choices
from frontend.components.controls import segments, small_select
from frontend.components.dialogs import drawer
from frontend.components.elements import Store, attributes, button_store
from frontend.components.notices import error_notice
from frontend.components.page import Living, Page
from frontend.pages.run import actions, identity, tabs
from frontend.pages.run.header import open_alerts, reason, status_row, title_row
from frontend.pages.run.tabs import TABS, tabs_of
from frontend.request.session import Api

SMOOTHING_CHOICES = (
    ("auto", "Auto"),
    ("off", "Off"),
    ("5", "Mean of 5 steps"),
    ("10", "Mean of 10 steps"),
    ("25", "Mean of 25 steps"),
    ("50", "Mean of 50 steps"),
    ("ema", "Exponential mean"),
)


async def layout(api: Api, path: Mapping[str, str], query: Mapping[str, str]) -> Living:
    """Return the page; its charts follow."""
    client = api.client()
    run, notices = await asyncio.gather(client.run(path["run_id"]), open_alerts(client, path["run_id"]))
    x_kind, smooth = query.get("x", ""), query.get("smooth", "")
    offered = tabs_of(run)
    asked = query.get("tab", "")
    tab = asked if asked in {each.name for each in offered} else TABS[0].name
    tab_list = dmc.Tabs(
        dmc.TabsList([dmc.TabsTab(each.label, value=each.name) for each in offered], className="tabs-list"),
        id="run-tabs",
        value=tab,
        className="run-tabs",
    )
    axis = html.Div(
        [
            html.Span("x-axis", className="fact-label"),
            segments(
                "run-x",
                "x-axis of the charts",
                x_kind if x_kind in X_KINDS else "step",
                choices((("step", "Step"), ("time", "Time"), ("rollouts", "Rollouts"))),
            ),
            html.Span("smoothing", className="fact-label"),
            small_select(
                "run-smooth",
                "Smoothing of the charts",
                smooth if smooth in dict(SMOOTHING_CHOICES) else SMOOTHING_CHOICES[0][0],
                choices(SMOOTHING_CHOICES),
                w=150,
            ),
        ],
        id="run-axis",
        className="run-axis",
    )
    opened = await _opened(client, run, tab, query)
    content = html.Div(
        [
            Store(id="run-id", data=run.id),
            Store(id="run-method", data=run.method),
            Store(id="run-reload", data=0),
            Store(id="findings-poke"),
            Store(id="run-axis-tabs", data=[each.name for each in TABS if each.has_axis]),
            title_row(run),
            html.Div(status_row(run), id="run-status", className="run-facts"),
            html.Div(id="run-progress", className="run-progress"),
            html.Div(identity.written(run), id="run-written", className="run-written"),
            html.Div(reason(run), id="run-reason"),
            html.Div(notices, id="run-alerts", className="run-alerts"),
            button_store(acknowledging("run")),
            # Drawn by the browser, which asks for them again and again.
            html.Div(
                id="run-tiles",
                className="tiles",
                role="group",
                # On a phone they are scrolled, also with the keyboard.
                tabIndex=0,
                **attributes(aria_label="Key figures"),
            ),
            html.Div(tab_list, className="tabs-row"),
            axis,
            # Its id and its label follow the open tab (assets/run.js).
            html.Div(html.Div(opened, id="run-panel", className="run-panel"), role="tabpanel"),
            actions.dialogs(),
            identity.dialog(),
            drawer(
                "change",
                html.Div(id="change-body"),
                title="Change parameters",
                size="md",
                padding="md",
                className="form-drawer",
            ),
        ],
        className="run-page",
    )
    return Living(content, run.last_event_id)


async def _opened(client: AsyncClient, run: RunDetail, tab: str, query: Mapping[str, str]) -> Any:
    """Return what the open tab shows, or why it cannot be shown."""
    try:
        return await tabs.panel(client, run, tab, query)
    except FAILURES as error:
        return error_notice(error)


PAGES = (Page("/runs/(?P<run_id>[^/]+)", layout, section="a-run", events="/api/v1/runs/{run_id}/events"),)
