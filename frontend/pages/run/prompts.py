"""The tab Prompts: every training prompt with its accuracy over the run, filtered by its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from dash import Dash, Input, Output, State, html

from bapo.analysis.stories import STORY_TEXTS
from bapo.api.runs import RunDetail
from bapo.config.sections import group_size_of
from bapo.figures.theme import DARK, LIGHT, accuracy_ramp
from bapo.rollout import BatchSource
from frontend.components.actions import clientside
from frontend.components.choices import choices
from frontend.components.controls import filter_select, search_field
from frontend.components.elements import Link, Store, attributes
from frontend.components.icon import explained
from frontend.components.prompts import DEFAULT_SORT, filter_of
from frontend.request.session import Api

ROWS_ON_A_PAGE = 50

SOURCE_CHOICES: tuple[tuple[BatchSource, str], ...] = (
    (BatchSource.FRESH, "X1: fresh"),
    (BatchSource.REEVALUATED, "X2: re-evaluated"),
    (BatchSource.REUSED, "X3: reused"),
)

EXPLANATION = (
    "Each point is a visit: height and colour are its accuracy, from 0/G at the bottom to G/G at the top. Circle: "
    "fresh (X1), triangle: re-evaluated (X2), square: reused (X3). All rows share the run's steps from left to right. "
    "Of more than 100 visits, 100 evenly spaced ones are drawn."
)


def ramp_style(group_size: int) -> dict[str, str]:
    """Return the accuracy ramp as CSS variables --k0 … --kG that follow the scheme."""
    light, dark = accuracy_ramp(LIGHT, group_size), accuracy_ramp(DARK, group_size)
    return {f"--k{k}": f"light-dark({light[k]}, {dark[k]})" for k in range(group_size + 1)}


def prompts_panel(run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Return chips, filters and the frame of the table, which the browser fills (assets/prompts.js)."""
    wanted = filter_of(query)
    group_size = group_size_of(run.config)
    counts = choices((str(k), f"{k}/{group_size}") for k in range(group_size + 1))
    filters = html.Div(
        [
            search_field(
                "prompts-search",
                "Search prompts by identifier or text",
                wanted.search or "",
                "Identifier or text contains …",
                className="prompts-search",
            ),
            filter_select(
                "prompts-source",
                "Visited at least once from this source",
                wanted.source,
                choices((source.value, label) for source, label in SOURCE_CHOICES),
                "Any source",
                170,
            ),
            html.Span(
                [
                    html.Span("last accuracy", className="fact-label"),
                    filter_select("prompts-min", "Last accuracy from", _text(wanted.min_last), counts, "from", 84),
                    filter_select("prompts-max", "Last accuracy up to", _text(wanted.max_last), counts, "to", 84),
                ],
                className="prompts-range",
            ),
            Link("Over all runs", href=f"/prompts?{urlencode({'project': run.project})}", className="sample-link"),
            html.Span(
                [html.Span(id="prompts-shown", role="status"), explained(EXPLANATION)], className="prompts-shown"
            ),
        ],
        className="prompts-filters",
    )
    return html.Div(
        [
            Store(
                id="prompts-mounted",
                data={
                    "run": run.id,
                    "groupSize": group_size,
                    "rows": ROWS_ON_A_PAGE,
                    "defaultSort": DEFAULT_SORT,
                    "stories": [
                        {"name": story.value, "label": text.label, "definition": text.definition}
                        for story, text in STORY_TEXTS.items()
                    ],
                },
            ),
            Store(id="prompts-sink"),
            html.Div(id="prompts-chips", className="chips", role="group", **attributes(aria_label="Outcome")),
            filters,
            html.Div(id="prompts-news", className="news", hidden=True, role="status"),
            html.Div(
                [html.Div(className="skeleton-row") for _ in range(10)],
                id="prompts-table",
                className="prompts-table",
                **attributes(data_run=run.id),
            ),
            html.Div(id="prompts-pages", className="pages"),
        ],
        className="panel-stack prompts-panel",
        style=ramp_style(group_size),
    )


def _text(count: int | None) -> str | None:
    return None if count is None else str(count)


def register(app: Dash, _: Api) -> None:
    """Register the controls; the rest is the script's."""
    clientside(
        app,
        "prompts",
        "show",
        Output("prompts-sink", "data"),
        Input("prompts-mounted", "data"),
        Input("prompts-search", "value"),
        Input("prompts-source", "value"),
        Input("prompts-min", "value"),
        Input("prompts-max", "value"),
        State("prompts-sink", "data"),
    )
