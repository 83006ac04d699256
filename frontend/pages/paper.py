"""The paper view: selected runs as the figures and tables of arXiv:2602.20722, and their report as one file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from bapo.analysis.comparison import SEED_FIELD, differences
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures.groups import BY_CONFIG, BY_METHOD, BY_RUN, comparable
from bapo.figures.theme import palette_of
from bapo.report.api_runs import MOST_RUNS, fetch_runs
from bapo.report.contents import sections_of, selection_of
from bapo.report.document import drawings, expected_bytes
from frontend.components.actions import FAILURES, clientside
from frontend.components.card import page_title
from frontend.components.choices import choices, select
from frontend.components.elements import Store, attributes
from frontend.components.icon import icon
from frontend.components.notices import error_notice, link_button, notice
from frontend.components.page import Page
from frontend.components.report_sections import body
from frontend.delivery.reports import PATH, run_ids_of
from frontend.request.prefix import served
from frontend.request.session import Api

LISTED_RUNS = 200
GROUPINGS = (
    (BY_CONFIG, "config (seeds are replicates)"),
    (BY_METHOD, "method"),
    (BY_RUN, "single runs"),
    ("group", "run group"),
    ("tags", "tags"),
)


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the controls; figures and tables follow."""
    client = api.client()
    run_ids = run_ids_of(query)
    group = query.get("group") or BY_CONFIG
    newest, chosen = await asyncio.gather(
        client.runs(limit=LISTED_RUNS), asyncio.gather(*(client.run(run_id) for run_id in run_ids[:MOST_RUNS]))
    )
    names = {run.id: run.name for run in [*newest.items, *chosen]}
    head = html.Div(
        [
            html.Div(
                [
                    page_title("Paper view"),
                    dmc.Text(
                        "The selected runs as the figures and tables of arXiv:2602.20722, in the paper's order and "
                        "with its numbering.",
                        size="sm",
                        c="dimmed",
                    ),
                ]
            ),
            *_links(run_ids, group),
        ],
        className="paper-head",
    )
    return html.Div(
        [
            head,
            _controls(names, run_ids, group, chosen),
            Store(id="paper-request", data={"runs": run_ids, "group": group}),
            Store(id="paper-figures"),
            html.Div(id="paper-sink", hidden=True),
            html.Div(_placeholder(run_ids), id="paper-body"),
        ],
        className="paper-page",
    )


def _links(run_ids: Sequence[str], group: str) -> list[Any]:
    if not run_ids:
        return [html.Span(id="paper-size", hidden=True)]
    address = PATH + "?" + urlencode({"runs": ",".join(run_ids), "group": group}, safe=",")
    compare = "/compare?" + urlencode({"runs": ",".join(run_ids)}, safe=",")
    download = html.A(
        dmc.Button(
            [html.Span("Export as one HTML file"), html.Span(id="paper-size", className="paper-size")],
            leftSection=icon("download", 16),
            size="xs",
        ),
        href=served(address),
        download="",
        className="plain-link",
        id="paper-export",
    )
    links = [link_button("Compare", compare, size="xs", variant="default"), download]
    return [dmc.Group(links, gap="xs", mt=4, className="page-actions")]


def _controls(names: Mapping[str, str], run_ids: Sequence[str], group: str, runs: Sequence[RunDetail]) -> html.Div:
    known = [value for value, _ in GROUPINGS]
    fields = [each.field for each in differences([comparable(run.config) for run in runs])] if runs else []
    fields = [field for field in fields if field not in (SEED_FIELD, "method.type")]
    if group not in [*known, *fields]:
        fields.append(group)
    return html.Div(
        [
            html.Div(
                dmc.MultiSelect(
                    id="paper-runs",
                    label="Runs",
                    placeholder="" if run_ids else "Select 1 to 50 runs",
                    data=choices(names.items()),
                    value=list(run_ids),
                    searchable=True,
                    clearable=True,
                    hidePickedOptions=True,
                    maxValues=MOST_RUNS,
                    limit=100,
                    size="xs",
                ),
                className="paper-choice",
            ),
            select(
                "paper-group",
                "Group by",
                group,
                choices([*GROUPINGS, *((field, field) for field in fields)]),
                size="xs",
                w=240,
            ),
            dmc.Button("Show", id="paper-show", size="xs", variant="default"),
        ],
        className="paper-controls",
    )


def _placeholder(run_ids: Sequence[str]) -> list[Any]:
    if run_ids:
        return [html.Div(className="paper-skeleton", **attributes(aria_hidden="true")) for _ in range(3)]
    return [
        notice(
            "Select runs",
            "One run is enough for most figures; several seeds of each method add intervals. The paper compares runs "
            "of different methods on the same task.",
            icon_name="runs",
        )
    ]


PAGES = (Page("/paper", layout, section="paper-view-and-reports", query_makes_page=True),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: loading, drawing and choosing."""

    @app.callback(
        Output("paper-body", "children"),
        Output("paper-figures", "data"),
        Output("paper-size", "children"),
        Input("paper-request", "data"),
        Input("scheme", "data"),
        State("paper-size", "children"),
    )
    async def show(request: Mapping[str, Any], scheme: str | None, size: str | None) -> Any:
        run_ids = request["runs"]
        if not run_ids:
            raise PreventUpdate
        # Where the page comes with its frame, the scheme becomes known before anything is drawn.
        is_repaint = ctx.triggered_id == "scheme" and bool(size)
        try:
            return await _shown(api.client(), run_ids, request["group"], scheme, is_repaint=is_repaint)
        except FAILURES as error:
            return error_notice(error), None, ""
        except ValueError as error:
            return notice("This cannot be shown", str(error), icon_name="alert"), None, ""

    in_browser = partial(clientside, app, "paper", initial=False)
    in_browser("show", Output("paper-sink", "children"), Input("paper-figures", "data"))
    chosen = (Input("paper-show", "n_clicks"), Input("paper-group", "value"), State("paper-runs", "value"))
    in_browser("choose", Output("paper-sink", "title"), *chosen)


async def _shown(
    client: AsyncClient, run_ids: Sequence[str], group: str, scheme: str | None, *, is_repaint: bool
) -> tuple[Any, Any, Any]:
    runs = await fetch_runs(client, run_ids)
    palette = palette_of(scheme)

    def build() -> tuple[Any, Any, Any]:
        selection = selection_of(runs, group)
        sections = sections_of(selection)
        figures = drawings(sections, palette)
        if is_repaint:
            return no_update, figures, no_update
        size = expected_bytes(figures)
        return body(selection, sections), figures, f"about {size / 1e6:.1f} MB"

    return await asyncio.to_thread(build)
