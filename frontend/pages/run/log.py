"""The tab Log: the trainer's output, which the browser reads piece by piece (assets/log.js)."""

from __future__ import annotations

from collections.abc import Mapping

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from bapo.api.runs import RunDetail
from frontend.components.actions import clientside
from frontend.components.choices import choices
from frontend.components.controls import search_field, small_select
from frontend.components.elements import Store, attributes
from frontend.request.session import Api


def log_panel(run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Return search, switches, and an empty box."""
    return html.Div(
        [
            Store(id="log-mounted"),
            html.Div(
                [
                    search_field("log-search", "Search the log", query.get("q", ""), "Search the log", w=220),
                    _attempts(run, query.get("attempt", "")),
                    html.Span(id="log-matches", className="fact-label", role="status"),
                    _button("log-previous", "Previous", "Previous match (Shift+Enter)"),
                    _button("log-next", "Next", "Next match (Enter)"),
                    html.Span(className="panel-space"),
                    dmc.Switch(id="log-follow", label="Follow", checked=True, size="xs"),
                    dmc.Switch(id="log-wrap", label="Wrap lines", checked=query.get("wrap") != "off", size="xs"),
                    _button("log-download", "Download", "The whole log as a text file"),
                ],
                className="panel-tools log-tools",
            ),
            html.Div(
                [
                    _button("log-earlier", "Load earlier lines", "Lines before those shown"),
                    html.Span("Loading …", id="log-state", className="fact-label", role="status"),
                ],
                className="log-head",
            ),
            html.Div(
                id="log-text",
                className="log",
                tabIndex=0,
                role="log",
                **attributes(aria_label="Log", aria_live="off"),
            ),
        ],
        className="panel-card",
    )


def _attempts(run: RunDetail, wanted: str) -> dmc.Select:
    numbers = [str(number) for number in range(1, run.attempt + 1)]
    return small_select(
        "log-attempt",
        "Attempt whose lines are shown",
        wanted if wanted in numbers else "",
        choices([("", "All attempts"), *((number, f"Attempt {number}") for number in reversed(numbers))]),
        w=130,
        display=None if run.attempt > 1 else "none",
    )


def _button(identifier: str, label: str, explanation: str) -> html.Button:
    return html.Button(label, id=identifier, className="small-button", type="button", title=explanation)


def register(app: Dash, _: Api) -> None:
    """Register the callbacks of the tab, which run in the browser."""
    clientside(app, "log", "mounted", Output("log-mounted", "data"), Input("log-text", "id"), State("run-id", "data"))
    clientside(
        app,
        "log",
        "switched",
        Output("log-mounted", "data", allow_duplicate=True),
        Input("log-search", "value"),
        Input("log-follow", "checked"),
        Input("log-wrap", "checked"),
        Input("log-attempt", "value"),
        initial=False,
    )
