"""The tab Difficulty: its charts, and how prompts moved between accuracies from one step to another."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html

from bapo.api.runs import RunDetail
from bapo.config.sections import group_size_of
from frontend.components.actions import clientside
from frontend.components.chart_card import chart_card
from frontend.components.choices import choices
from frontend.components.controls import segments
from frontend.components.elements import attributes
from frontend.components.icon import explained, icon
from frontend.pages.run.chart_panel import chart_panel
from frontend.request.session import Api

NUM_FLOW_STEPS = 4

KINDS = (("tracked", "Tracked prompts"), ("last_seen", "Last seen in training"))
KIND_EXPLANATION = (
    "Tracked: a fixed set of training prompts, all sampled apart from training by the policy of that step, which makes "
    "them comparable. Last seen: every training prompt at its last evaluation so far, at different steps and by "
    "different policies. A prompt that training has not drawn again looks unchanged, and there is no measure of chance."
)


def difficulty_panel(run: RunDetail) -> list[Any]:
    """Return the charts over training, and below them migration and flows, still without data."""
    return [*chart_panel(run, "difficulty"), _migration_section(run), _flow_section(run)]


def _migration_section(run: RunDetail) -> html.Section:
    group_size = group_size_of(run.config)
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Migration", className="section-title"),
                    html.Div(
                        [
                            segments("migration-kind", "Which prompts", KINDS[0][0], choices(KINDS)),
                            explained(KIND_EXPLANATION),
                        ],
                        className="migration-kind",
                    ),
                ],
                className="section-head",
            ),
            html.Div(
                [
                    _slider("migration-from", "From step"),
                    _slider("migration-to", "To step"),
                    dmc.Button(
                        [
                            html.Span(icon("play", 14), className="when-still"),
                            html.Span(icon("pause", 14), className="when-playing"),
                            html.Span("Play", className="when-still"),
                            html.Span("Pause", className="when-playing"),
                        ],
                        id="migration-play",
                        size="xs",
                        variant="light",
                        disabled=True,
                        className="migration-play",
                    ),
                    dmc.Switch(
                        id="migration-difference",
                        label="Difference from chance",
                        size="xs",
                        checked=False,
                        disabled=True,
                        className="migration-difference",
                    ),
                ],
                className="migration-controls",
            ),
            html.Div(
                id="migration-rates",
                className="rate-tiles",
                **attributes(role="group", aria_label="Rates of migration"),
            ),
            html.Div(
                [
                    chart_card(
                        "migration",
                        "Migration matrix",
                        "Rows: accuracy at the earlier step; columns: at the later one. Numbers are prompts, colours "
                        "their share of the row. In outlined cells the accuracy did not change: to the right of them "
                        f"it rose, to the left it fell. The red row holds the prompts at 0/{group_size}, never solved.",
                        question="Where did prompts of each accuracy go?",
                        height=400,
                        empty="The tracked prompts have not been sampled yet.",
                        kind="difficulty",
                    ),
                    chart_card(
                        "migration-null",
                        "Migration by chance",
                        "The base model sampled twice without learning in between: what moves here moves because G "
                        "responses are a small sample. Measured once, at step 0, and only a guide for later steps. "
                        "Only what differs from it is learning.",
                        question="How much moves although nothing was learned?",
                        height=400,
                        empty="The base model was not sampled twice.",
                        kind="difficulty",
                    ),
                    chart_card(
                        "accuracy-counts",
                        "Prompts by accuracy, before and after",
                        "Prompts that were seen at both steps. Outlined: at the earlier step; filled: at the later "
                        "one.",
                        height=300,
                        wide=True,
                        empty="No prompt was seen at both steps.",
                        kind="difficulty",
                    ),
                ],
                className="chart-grid",
            ),
        ],
        id="migration-section",
        className="difficulty-section",
        **attributes(aria_label="Migration between accuracies"),
    )


def _flow_section(run: RunDetail) -> html.Section:
    steps = [
        dmc.NumberInput(
            id={"type": "flow-step", "place": place},
            size="xs",
            w=84,
            min=0,
            max=run.num_steps,
            allowDecimal=False,
            allowNegative=False,
            debounce=400,
            **attributes(aria_label=f"Step {place + 1} of {NUM_FLOW_STEPS} of the flows"),
        )
        for place in range(NUM_FLOW_STEPS)
    ]
    return html.Section(
        [
            html.Div(
                [
                    html.H2("Flows", className="section-title"),
                    html.Div([html.Span("at steps", className="fact-label"), *steps], className="flow-steps"),
                ],
                className="section-head",
            ),
            html.Div(
                chart_card(
                    "flows",
                    "Flows between accuracies",
                    "Each column is a step, each band the prompts that went from one class of accuracy to the next. "
                    "Low is up to 1/3, high from 2/3. Bands have the colour of the class that they leave. Tracked "
                    "prompts are shown at their last sampling up to a step.",
                    height=380,
                    wide=True,
                    empty="No prompt has been seen yet.",
                    kind="difficulty",
                ),
                className="chart-grid",
            ),
        ],
        className="difficulty-section",
        **attributes(aria_label="Flows between accuracies"),
    )


def _slider(identifier: str, label: str) -> html.Div:
    """Return a slider of steps, whose range and marks the page's script sets (assets/difficulty.js)."""
    return html.Div(
        [
            html.Div(
                [html.Span(label, className="fact-label"), html.Span("–", id=f"{identifier}-step", className="fact")],
                className="slider-label",
            ),
            dmc.Slider(
                id=identifier,
                min=0,
                max=1,
                value=0,
                step=1,
                size="sm",
                label=None,
                thumbLabel=label,
                updatemode="drag",
                disabled=True,
            ),
        ],
        className="migration-slider",
    )


def register(app: Dash, _: Api) -> None:
    """Register the callbacks of the tab, which run in the browser."""
    clientside(
        app,
        "difficulty",
        "changed",
        Output("migration-section", "data-sink"),
        Input("migration-kind", "value"),
        Input("migration-from", "value"),
        Input("migration-to", "value"),
        Input("migration-difference", "checked"),
        Input("migration-play", "n_clicks"),
        Input({"type": "flow-step", "place": ALL}, "value"),
        Input("run-reload", "data"),
        Input("scheme", "data"),
        State("run-id", "data"),
    )
