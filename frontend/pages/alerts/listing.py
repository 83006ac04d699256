"""What the rules found: open alerts first, each with what to do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.client import ApiError
from frontend.clientside import clientside
from frontend.components.alert_cards import KINDS, acknowledging, alert_cards
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.notices import error_text, link_button, notice, toast
from frontend.components.store_button import button_store, store_id
from frontend.pages.alerts import frame
from frontend.session import Api

STATES = (("open", "Open"), ("resolved", "Over"), ("all", "All"))
PAGE_SIZE = 50


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The list, filtered as the address says."""
    state = query.get("state", "open") if query.get("state") in dict(STATES) else "open"
    kind = query.get("kind") if query.get("kind") in KINDS else None
    run_id = query.get("run")
    filters = html.Div(
        [
            dmc.SegmentedControl(
                id="alerts-state",
                value=state,
                data=[{"value": value, "label": label} for value, label in STATES],
                size="xs",
                **attributes(aria_label="Which alerts"),
            ),
            dmc.Select(
                id="alerts-kind",
                value=kind,
                data=[{"value": value, "label": label} for value, label in KINDS.items()],
                placeholder="Every kind",
                clearable=True,
                size="xs",
                w=180,
                **attributes(aria_label="Kind of alert"),
            ),
            *([_one_run(run_id)] if run_id else []),
            dmc.Button(
                "Acknowledge all shown",
                id="alerts-all",
                size="xs",
                variant="default",
                color="gray",
                leftSection=icon("check", 14),
            ),
        ],
        className="alert-filters",
    )
    return frame.page(
        "/alerts",
        dcc.Store(id="alerts-poke"),
        button_store(acknowledging("list")),
        dcc.Store(id="alerts-run", data=run_id),
        dcc.Store(id="alerts-shown", data=PAGE_SIZE),
        filters,
        html.Div(await _list(api, state, kind, run_id, PAGE_SIZE), id="alerts-list"),
    )


def _one_run(run_id: str) -> dmc.Group:
    return dmc.Group(
        [
            dmc.Badge(f"run {run_id}", variant="light", color="gray"),
            dcc.Link("all runs", href="/alerts", className="fact-link"),
        ],
        gap="xs",
    )


async def _list(api: Api, state: str, kind: str | None, run_id: str | None, limit: int) -> list[Any]:
    page = await api.client().alerts(state=state, kind=kind, run_id=run_id, limit=limit)
    if not page.items:
        return [await _empty(api, state)]
    more = [dmc.Button("Show more", id="alerts-more", variant="subtle")] if page.next_cursor else []
    # The button is always there for its callback.
    hidden = [] if more else [dmc.Button(id="alerts-more", style={"display": "none"})]
    return [html.Div(alert_cards(page.items), className="alert-list"), *more, *hidden]


async def _empty(api: Api, state: str) -> Any:
    rules = await api.client().alert_rules()
    if not rules.items:
        return notice(
            "Nobody watches the runs yet",
            "A rule tells when a run fails, stands still, or trains on bad data. It never stops a run.",
            icon_name="bell",
            action=link_button("Make rules", "/alerts/rules"),
        )
    watched = f"{len(rules.items)} rules watch the runs." if len(rules.items) > 1 else "One rule watches the runs."
    title = {"open": "No open alerts", "resolved": "No alert is over"}.get(state, "No alerts")
    return notice(title, watched, icon_name="check")


def register(app: Dash, api: Api) -> None:
    """Filters, news and acknowledging; and the bell, which is on every page."""
    clientside(app, "alerts", "begin", Output("bell-sink", "title"), Input("bell-sink", "id"))
    clientside(
        app,
        "alerts",
        "filtered",
        Output("alerts-poke", "data"),
        Input("alerts-state", "value"),
        Input("alerts-kind", "value"),
        initial=False,
    )

    @app.callback(
        Output("alerts-shown", "data"),
        Input("alerts-more", "n_clicks"),
        State("alerts-shown", "data"),
        prevent_initial_call=True,
    )
    def more(clicks: int | None, shown: int) -> Any:
        return min(500, shown + PAGE_SIZE) if clicks else no_update

    @app.callback(
        Output("alerts-list", "children"),
        Input("alerts-poke", "data"),
        Input("alerts-shown", "data"),
        State("alerts-state", "value"),
        State("alerts-kind", "value"),
        State("alerts-run", "data"),
        prevent_initial_call=True,
    )
    async def refresh(_: Any, shown: int, state: str, kind: str | None, run_id: str | None) -> Any:
        try:
            return await _list(api, state, kind, run_id, shown)
        except (ApiError, httpx.TransportError) as error:
            return [dmc.Alert(error_text(error), color="yellow", variant="light")]

    @app.callback(
        Output("alerts-poke", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input(store_id(acknowledging("list")), "data"),
        Input("alerts-all", "n_clicks"),
        State({"type": acknowledging("list"), "id": ALL}, "id"),
        prevent_initial_call=True,
    )
    async def acknowledge(press: Mapping[str, Any] | None, _: Any, shown: list[dict[str, Any]]) -> Any:
        if not any(each["value"] for each in ctx.triggered):
            return no_update, no_update
        is_all = ctx.triggered_id == "alerts-all"
        ids = [press["id"]] if press and not is_all else [each["id"] for each in shown]
        if not ids:
            return no_update, toast("Every alert shown was seen before.", title="Nothing to do", colour="gray")
        try:
            await api.client().acknowledge_alerts(ids)
        except (ApiError, httpx.TransportError) as error:
            return no_update, toast(error_text(error), title="Could not acknowledge")
        return datetime.now(UTC).timestamp(), no_update
