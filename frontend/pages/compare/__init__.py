"""Comparison of 2 to 50 runs: curves, results, costs, configs, batches and migration."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.card import page_title
from frontend.components.controls import small_select
from frontend.components.elements import Link, Store, attributes
from frontend.components.icon import icon
from frontend.components.importance_cards import importance_cards
from frontend.components.page import Page
from frontend.components.runs import runs_of_group
from frontend.pages.compare.controls import controls, nothing_chosen, run_picker
from frontend.pages.compare.requests import PageRequests
from frontend.pages.compare.view import MOST_RUNS, View, view_of
from frontend.request.session import Api


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the page; what it shows follows."""
    view = view_of(query)
    if not view.runs and (group := query.get("run_group")):
        view = view._replace(runs=tuple(run.id for run in await runs_of_group(api.client(), group)))
    view = view._replace(runs=view.runs[:MOST_RUNS])
    recent = [] if view.runs else (await api.client().runs(limit=50)).items
    options = [{"value": run_id, "label": run_id} for run_id in view.runs]
    options += [{"value": run.id, "label": run.name} for run in recent]
    visit = uuid.uuid4().hex
    if view.runs:
        PageRequests(api, visit).ahead(view)
    return html.Div(
        [
            Store(id="compare-visit", data=visit),
            Store(id="compare-hidden", data=sorted(view.hidden)),
            Store(id="compare-poke"),
            Store(id="compare-drawn"),
            Store(id="compare-sink"),
            Store(id="compare-columns"),
            html.Div(
                [
                    page_title("Compare"),
                    Link(
                        dmc.Button("Paper view", variant="default", color="gray", size="xs"),
                        id="compare-paper",
                        href=f"/paper?runs={','.join(view.runs)}",
                        className="plain-link",
                    ),
                ],
                className="compare-head",
            ),
            run_picker(view, options),
            html.Div(nothing_chosen(recent), id="compare-nothing", hidden=bool(view.runs)),
            html.Div(_body(view), id="compare-body", hidden=not view.runs),
        ],
        className="compare-page",
    )


def _body(view: View) -> list[Any]:
    return [
        html.P(id="compare-outcome", className="compare-outcome"),
        controls(view, (), view.metrics),
        html.Div(id="compare-legend", className="compare-legend", role="group", **attributes(aria_label="Groups")),
        html.Div(id="compare-state", className="compare-state", role="status"),
        html.Div(
            [html.Div(className="chart-card compare-skeleton") for _ in range(4)],
            id="compare-curves",
            className="chart-grid",
        ),
        html.Div(id="compare-downloads", className="compare-downloads"),
        _section("results", "Results"),
        _section("reached", "Cost to reach an accuracy", _reach_controls(view)),
        _section(
            "paired",
            "Paired differences by seed",
            _group_control("reference", view.reference, "Group that the others are compared with"),
        ),
        _section("config", "Config differences"),
        html.Div(importance_cards("compare"), className="panel-stack"),
        _section("composition", "Batch composition"),
        _section(
            "migration",
            "Migration",
            _group_control("other", view.other, "Group whose prompts are compared with those of the reference"),
        ),
    ]


def _section(name: str, title: str, *choices: Any) -> html.Section:
    return html.Section(
        [
            html.Div([html.H2(title, className="section-title"), *choices], className="compare-section-head"),
            html.Div(html.Div(className="compare-skeleton short"), id=f"compare-{name}", className="compare-part"),
        ],
        className="compare-section",
        **attributes(aria_label=title),
    )


def _reach_controls(view: View) -> html.Div:
    return html.Div(
        [
            small_select(
                "compare-dataset", "Held-out set", view.dataset, [view.dataset] if view.dataset else [], w=180
            ),
            dmc.NumberInput(
                id="compare-reach",
                value=view.reach if view.reach is not None else "",
                min=0,
                max=100,
                step=1,
                decimalScale=2,
                suffix=" %",
                debounce=400,
                size="xs",
                w=130,
                leftSection=icon("sliders", 14),
                **attributes(aria_label="Accuracy to reach, in percent"),
            ),
        ],
        className="compare-choices",
    )


def _group_control(name: str, chosen: str | None, label: str) -> html.Div:
    data = [chosen] if chosen else []
    select = small_select(f"compare-{name}", label, chosen, data, searchable=True, w=240)
    return html.Div(select, className="compare-choices")


PAGES = (Page("/compare", layout, section="compare"),)
