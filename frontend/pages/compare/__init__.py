"""Two to fifty runs side by side: curves, results, costs, configs, batches, migration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, dcc, html

from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.pages.compare import drawing
from frontend.pages.compare.controls import controls
from frontend.pages.compare.picker import nothing_chosen, run_picker
from frontend.pages.compare.view import MOST_RUNS, View, view_of
from frontend.session import Api


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The page without what it shows, which follows at once."""
    view = view_of(query)
    view = view._replace(runs=view.runs[:MOST_RUNS])
    recent = [] if view.runs else (await api.client().runs(limit=50)).items
    options = [{"value": run_id, "label": run_id} for run_id in view.runs]
    options += [{"value": run.id, "label": run.name} for run in recent]
    return html.Div(
        [
            dcc.Store(id="compare-hidden", data=sorted(view.hidden)),
            dcc.Store(id="compare-poke"),
            dcc.Store(id="compare-drawn"),
            dcc.Store(id="compare-told"),
            dcc.Store(id="compare-columns"),
            html.Div(
                [
                    dmc.Title("Compare", order=2),
                    dcc.Link(
                        dmc.Button("As in the paper", variant="default", color="gray", size="xs"),
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
        _section("reached", "What did it cost to reach an accuracy?", _reach_controls(view)),
        _section("paired", "Differences, seed by seed", _reference_control(view)),
        _section("config", "What sets the configs apart?"),
        _section("composition", "What were the batches made of?"),
        _section("migration", "Which prompts moved differently?", _other_control(view)),
    ]


def _section(name: str, title: str, *choices: Any) -> html.Section:
    return html.Section(
        [
            html.Div([html.H3(title, className="section-title"), *choices], className="compare-section-head"),
            html.Div(html.Div(className="compare-skeleton short"), id=f"compare-{name}", className="compare-part"),
        ],
        className="compare-section",
        **attributes(aria_label=title),
    )


def _reach_controls(view: View) -> html.Div:
    return html.Div(
        [
            dmc.Select(
                id="compare-dataset",
                value=view.dataset,
                data=[view.dataset] if view.dataset else [],
                allowDeselect=False,
                size="xs",
                w=130,
                **attributes(aria_label="Held-out set"),
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


def _reference_control(view: View) -> html.Div:
    return html.Div(
        dmc.Select(
            id="compare-reference",
            value=view.reference,
            data=[view.reference] if view.reference else [],
            allowDeselect=False,
            searchable=True,
            size="xs",
            w=240,
            **attributes(aria_label="Group that the others are compared with"),
        ),
        className="compare-choices",
    )


def _other_control(view: View) -> html.Div:
    return html.Div(
        dmc.Select(
            id="compare-other",
            value=view.other,
            data=[view.other] if view.other else [],
            allowDeselect=False,
            searchable=True,
            size="xs",
            w=240,
            **attributes(aria_label="Group whose prompts are compared with those of the reference"),
        ),
        className="compare-choices",
    )


def register(app: Dash, api: Api) -> None:
    """Everything on the page that reacts."""
    drawing.register(app, api)
