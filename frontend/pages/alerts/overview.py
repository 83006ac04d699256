"""The alerts that the rules opened, each with what to do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html, no_update

from frontend.components.actions import clientside, in_place, in_toast, tell, when_pressed
from frontend.components.alert_cards import KINDS, acknowledging, alert_cards
from frontend.components.choices import choices
from frontend.components.controls import filter_select, segments, small_button
from frontend.components.elements import Link, Store, button_store, pressed_in
from frontend.components.notices import link_button, notice
from frontend.components.page import Page
from frontend.pages.alerts import alerts_page
from frontend.request.session import Api

STATES = (("open", "Open"), ("resolved", "Resolved"), ("all", "All"))
PAGE_SIZE = 50


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the list, filtered as the address says."""
    state = query.get("state", "open") if query.get("state") in dict(STATES) else "open"
    kind = query.get("kind") if query.get("kind") in KINDS else None
    run_id = query.get("run")
    filters = html.Div(
        [
            segments("alerts-state", "Which alerts", state, choices(STATES)),
            filter_select("alerts-kind", "Kind of alert", kind, choices(KINDS.items()), "All kinds", 180),
            *([_one_run(run_id)] if run_id else []),
            small_button("Acknowledge all shown", "alerts-all", "check", size="xs", className="for-members"),
        ],
        className="alert-filters",
    )
    return alerts_page(
        "/alerts",
        Store(id="alerts-poke"),
        button_store(acknowledging("list")),
        Store(id="alerts-run", data=run_id),
        Store(id="alerts-shown", data=PAGE_SIZE),
        filters,
        html.Div(await _list(api, state, kind, run_id, PAGE_SIZE), id="alerts-list"),
    )


def _one_run(run_id: str) -> dmc.Group:
    return dmc.Group(
        [
            dmc.Badge(f"run {run_id}", variant="light", color="gray"),
            Link("all runs", href="/alerts", className="fact-link"),
        ],
        gap="xs",
    )


async def _list(api: Api, state: str, kind: str | None, run_id: str | None, limit: int) -> list[Any]:
    page = await api.client().alerts(state=state, kind=kind, run_id=run_id, limit=limit)
    if not page.items:
        return [await _empty(api, state)]
    more = [dmc.Button("Show more", id="alerts-more", variant="subtle")] if page.next_cursor else []
    return [html.Div(alert_cards(page.items), className="alert-list"), *more]


async def _empty(api: Api, state: str) -> Any:
    rules = await api.client().alert_rules()
    if not rules.items:
        return notice(
            "No alert rules yet",
            "A rule opens an alert when a run fails, stalls, or trains on bad data. It never stops a run.",
            icon_name="bell",
            action=link_button("Create rules", "/alerts/rules"),
        )
    watched = f"{len(rules.items)} rules watch the runs." if len(rules.items) > 1 else "1 rule watches the runs."
    title = {"open": "No open alerts", "resolved": "No resolved alerts"}.get(state, "No alerts")
    return notice(title, watched, icon_name="check")


PAGES = (Page("/alerts", layout, section="alerts"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: filters, news and acknowledging; and the bell, which is on every page."""
    clientside(app, "alerts", "begin", Output("bell-sink", "title"), Input("bell-sink", "id"))
    chosen = (Input("alerts-state", "value"), Input("alerts-kind", "value"))
    clientside(app, "alerts", "filtered", Output("alerts-poke", "data"), *chosen, initial=False)

    @when_pressed(app, "alerts-more", outputs=[Output("alerts-shown", "data")], states=[State("alerts-shown", "data")])
    async def more(_: str, shown: int) -> int:
        return min(500, shown + PAGE_SIZE)

    @app.callback(
        Output("alerts-list", "children"),
        Input("alerts-poke", "data"),
        Input("alerts-shown", "data"),
        State("alerts-state", "value"),
        State("alerts-kind", "value"),
        State("alerts-run", "data"),
        prevent_initial_call=True,
        on_error=in_place("alerts-list"),
    )
    async def refresh(_: Any, shown: int, state: str, kind: str | None, run_id: str | None) -> Any:
        return await _list(api, state, kind, run_id, shown)

    @when_pressed(
        app,
        "alerts-all",
        pressed_in(acknowledging("list")),
        outputs=[Output("alerts-poke", "data", allow_duplicate=True)],
        states=[State({"type": acknowledging("list"), "id": ALL}, "id")],
        on_error=in_toast("Not acknowledged"),
    )
    async def acknowledge(pressed: Any, shown: list[dict[str, Any]]) -> Any:
        ids = [each["id"] for each in shown] if pressed == "alerts-all" else [pressed["id"]]
        if not ids:
            tell("All alerts shown have been acknowledged already.", "Nothing to do", "gray")
            return no_update
        await api.client().acknowledge_alerts(ids)
        return datetime.now(UTC).timestamp()
