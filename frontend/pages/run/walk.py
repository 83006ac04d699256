"""The tab Step by step: a recorded step walked line by line next to Algorithm 1, or the method's own rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, Input, Output, html

from bapo.api.runs import RunDetail
from bapo.config.fractions import parse_fraction
from bapo.config.method import has_trait
from bapo.config.sections import group_size_of
from frontend.components.actions import clientside
from frontend.components.choices import choices
from frontend.components.controls import filter_select, small_button, stepper
from frontend.components.elements import Store, attributes
from frontend.components.notices import notice
from frontend.components.symbols import SYMBOLS
from frontend.delivery.documents import address
from frontend.pages.run.prompts import ramp_style
from frontend.request.session import Api

THRESHOLDS = ("c1", "c2", "c3")
MOST_CHOICES = 64
"""Maximum number of choices for a threshold; a larger G offers evenly spaced ones."""


def walk_panel(run: RunDetail, query: Mapping[str, str]) -> Any:
    """Return the controls and the frame of the walk, which the browser fetches (assets/walk.js)."""
    if not run.step:
        return notice(
            "No steps yet",
            "As soon as the run has recorded a step, it can be walked through here, line by line next to the rule of "
            "its method.",
        )
    size = group_size_of(run.config)
    return html.Div(
        [
            Store(id="walk-mounted", data={"run": run.id, "groupSize": size}),
            Store(id="walk-sink"),
            html.Div(
                [
                    stepper("walk", query.get("step", ""), "newest", debounce=300),
                    *([_thresholds(size, query)] if has_trait(run.method, "has_thresholds") else []),
                    html.A("How to read this", href=address("docs/walk.md"), className="sample-link walk-help"),
                ],
                className="samples-controls",
            ),
            html.Div(id="walk-news", className="news", hidden=True, role="status"),
            html.Div(
                [html.Div(className="skeleton-card") for _ in range(2)],
                id="walk",
                className="walk",
                **attributes(data_run=run.id),
            ),
        ],
        className="panel-stack",
        style=ramp_style(size),
    )


def _thresholds(size: int, query: Mapping[str, str]) -> html.Div:
    every = -(-size // MOST_CHOICES)
    accuracies = [f"{k}/{size}" for k in range(0, size, every)]
    chosen = {name: _chosen(query.get(name, ""), size) for name in THRESHOLDS}
    return html.Div(
        [
            html.Span("under another", className="fact-label"),
            *(
                filter_select(
                    f"walk-{name}",
                    f"{name}, {SYMBOLS[f'method.{name}'].name}, for this step",
                    value,
                    # Also what only a link says.
                    choices((each, each) for each in dict.fromkeys([*accuracies, *([value] if value else [])])),
                    name,
                    92,
                )
                for name, value in chosen.items()
            ),
            small_button("As recorded", "walk-reset", size="xs"),
        ],
        className="walk-thresholds",
        role="group",
        **attributes(aria_label="Other thresholds for this step"),
    )


def _chosen(text: str, size: int) -> str | None:
    """Return a threshold of the address as the select has it: 1/4 is 2/8."""
    try:
        count = parse_fraction(text) * size
    except ValueError:
        return text or None
    return f"{count}/{size}" if count.denominator == 1 else text


def register(app: Dash, _: Api) -> None:
    """Register the controls; the rest is the script's."""
    inputs = [Input(f"walk-{name}", "value", allow_optional=True) for name in THRESHOLDS]
    clientside(
        app,
        "walk",
        "show",
        Output("walk-sink", "data"),
        Input("walk-mounted", "data"),
        Input("walk-step", "value"),
        *inputs,
    )
