"""The tab Step by step: a recorded step walked line by line beside Algorithm 1, or the method's own rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, dcc, html

from bapo.api.runs import RunDetail
from bapo.config.method import has_trait
from bapo.config.sections import group_size_of
from frontend.clientside import clientside
from frontend.components.attributes import attributes
from frontend.components.choices import choices
from frontend.components.controls import filter_select, small_button, step_button
from frontend.components.notices import notice
from frontend.documents import address
from frontend.pages.run.prompts import ramp_style
from frontend.symbols import SYMBOLS

THRESHOLDS = ("c1", "c2", "c3")
MOST_CHOICES = 64
"""Of a threshold; a larger G offers evenly spaced ones."""


def walk_panel(run: RunDetail, query: Mapping[str, str]) -> Any:
    """Returns the controls and the frame of the walk, which the browser fetches (assets/walk.js)."""
    if not run.step:
        return notice(
            "No steps yet",
            "As soon as the run has recorded a step, it can be walked through here, line by line beside the rule of "
            "its method.",
        )
    size = group_size_of(run.config)
    step = query.get("step", "")
    return html.Div(
        [
            dcc.Store(id="walk-mounted", data={"run": run.id, "groupSize": size}),
            dcc.Store(id="walk-told"),
            html.Div(
                [
                    html.Div(
                        [
                            step_button("walk-previous", "‹", "Previous step"),
                            dmc.NumberInput(
                                id="walk-step",
                                value=int(step) if step.isdecimal() else "",
                                placeholder="newest",
                                min=1,
                                allowDecimal=False,
                                allowNegative=False,
                                hideControls=True,
                                w=96,
                                size="xs",
                                debounce=300,
                                **attributes(aria_label="Step"),
                            ),
                            step_button("walk-next", "›", "Next step"),
                            small_button("Newest", "walk-newest", size="xs"),
                        ],
                        className="samples-stepper",
                        role="group",
                        **attributes(aria_label="Step"),
                    ),
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
    accuracies = choices((f"{k}/{size}", f"{k}/{size}") for k in range(0, size, every))
    return html.Div(
        [
            html.Span("under another", className="fact-label"),
            *(
                filter_select(
                    f"walk-{name}",
                    f"{name}, {SYMBOLS[f'method.{name}'].name}, for this step",
                    query.get(name) if query.get(name) in {each["value"] for each in accuracies} else None,
                    accuracies,
                    name,
                    86,
                )
                for name in THRESHOLDS
            ),
            small_button("As recorded", "walk-reset", size="xs"),
        ],
        className="walk-thresholds",
        role="group",
        **attributes(aria_label="Other thresholds for this step"),
    )


def register(app: Dash) -> None:
    """Registers the controls; the rest is the script's."""
    inputs = [Input(f"walk-{name}", "value", allow_optional=True) for name in THRESHOLDS]
    clientside(
        app,
        "walk",
        "show",
        Output("walk-told", "data"),
        Input("walk-mounted", "data"),
        Input("walk-step", "value"),
        *inputs,
    )
