"""The tab Samples: responses, group by group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, html

from bapo.api.runs import RunDetail
from bapo.config.sections import group_size_of, token_limit_of
from bapo.figures.looks import SOURCE_NAMES
from bapo.rollout import BatchSource
from frontend.components.actions import clientside
from frontend.components.choices import choices
from frontend.components.controls import filter_select, search_field, stepper
from frontend.components.elements import Store, attributes
from frontend.request.session import Api

GROUPS_AT_ONCE = 12

CORRECTNESS: tuple[tuple[str, str], ...] = (
    ("none", "None correct"),
    ("some", "Some correct"),
    ("all", "All correct"),
)


def samples_panel(run: RunDetail, query: Mapping[str, str]) -> html.Div:
    """Return the controls and a place for the groups, which the browser fetches (assets/samples.js)."""
    step = query.get("step", "")
    source = query.get("source", "")
    correct = query.get("correct", "")
    controls = html.Div(
        [
            stepper("samples", step, "all steps", of="step with responses", max=run.num_steps),
            filter_select(
                "samples-source",
                "Source",
                source if source in tuple(BatchSource) else None,
                choices((each.value, name) for each, name in SOURCE_NAMES.items()),
                "Any source",
                150,
            ),
            filter_select(
                "samples-correct",
                "Correct responses",
                correct if correct in dict(CORRECTNESS) else None,
                choices(CORRECTNESS),
                "Any accuracy",
                140,
            ),
            search_field(
                "samples-search",
                "Search prompts and responses",
                query.get("search", "")[:200],
                "Prompt or response contains …",
                className="samples-search",
            ),
            html.Span(id="samples-mode"),
            html.Span(id="samples-shown", className="samples-shown", role="status"),
        ],
        className="samples-controls",
    )
    return html.Div(
        [
            Store(
                id="samples-mounted",
                data={
                    "run": run.id,
                    "groupSize": group_size_of(run.config),
                    "groups": GROUPS_AT_ONCE,
                    "limit": token_limit_of(run.config),
                },
            ),
            Store(id="samples-sink"),
            controls,
            html.Div(id="samples-news", className="news", hidden=True, role="status"),
            html.Div(
                [html.Div(className="skeleton-card") for _ in range(4)],
                id="samples",
                className="sample-grid",
                **attributes(data_run=run.id),
            ),
            html.Div(id="samples-more", className="pages"),
        ],
        className="panel-stack",
    )


def register(app: Dash, _: Api) -> None:
    """Register the controls; the rest is the script's."""
    inputs: list[Any] = [
        Input("samples-mounted", "data"),
        Input("samples-step", "value"),
        Input("samples-source", "value"),
        Input("samples-correct", "value"),
        Input("samples-search", "value"),
    ]
    clientside(app, "samples", "show", Output("samples-sink", "data"), *inputs)
