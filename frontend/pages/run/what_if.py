"""The tab What-if: the run's batches as they would have been with other settings or another method."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import ALL, Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from bapo.analysis.steered import config_in_force
from bapo.analysis.what_if.answer import WhatIfAnswer, WhatIfTotals
from bapo.api.readings import WhatIfRequest
from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.config import ConfigError, RunConfig, apply_changes, parse_config
from bapo.config.method import has_trait, is_trainable, replay_methods
from bapo.figures.smoothing import WINDOW_STEPS
from bapo.figures.theme import Palette, palette_of, themed
from bapo.figures.what_if_band import Quantity, what_if_band_data, what_if_band_figure
from bapo.figures.what_if_composition import what_if_composition_data, what_if_composition_figure
from frontend.components.actions import FAILURES, clientside
from frontend.components.changes_query import changes_text, parse_changes
from frontend.components.chart_card import chart_card
from frontend.components.elements import Link, Store, attributes
from frontend.components.notices import error_text, notice
from frontend.pages.run.what_if_controls import KIND, changes_of, control_kinds, control_values, controls
from frontend.pages.run.what_if_summary import cautions, changed_fields, total_row, totals, words
from frontend.request.session import Api

MOST_POINTS = 700
CHART = f"{KIND}-chart"
CHARTS: tuple[tuple[str, str, str, str, int], ...] = (
    (
        "what-if-composition",
        "Batch composition",
        "What would the batches have been made of?",
        "Above: what the run trained on; below: what it would have trained on. Solid areas follow from recorded "
        "responses; hatched ones are estimates.",
        440,
    ),
    (
        "what-if-fill",
        "Fill rate",
        "Would the batches have been fuller?",
        f"Groups trained on as a share of B, mean of {WINDOW_STEPS} steps. Dashed where it is an estimate, with a 90 % "
        "prediction interval.",
        260,
    ),
    (
        "what-if-gradient",
        "Groups with a gradient",
        "How many fresh groups would have been neither all wrong nor all right?",
        f"Share of the fresh groups of each step, mean of {WINDOW_STEPS} steps.",
        260,
    ),
    (
        "what-if-rollouts",
        "Rollouts so far",
        "What would it have cost?",
        "Responses generated for training so far, fresh and re-evaluated.",
        260,
    ),
    (
        "what-if-difficult",
        "Difficult prompts",
        "How many prompts would have counted as difficult?",
        "Prompts in the difficult buffer after each step.",
        260,
    ),
    (
        "what-if-reusable",
        "Reusable groups",
        "How many groups would have been available for reuse?",
        "Groups in the high-quality buffer after each step.",
        260,
    ),
)
"""Name, title, question, explanation and height of each card."""


async def what_if_panel(_: AsyncClient, run: RunDetail, query: Mapping[str, str]) -> Any:
    """Return the controls as the address has them, and the cards, still empty."""
    if not has_trait(run.method, "is_replayable"):
        return notice(
            f"The batches of {run.method} cannot be replayed",
            f"What-if replays runs of {', '.join(replay_methods())}, and those of other trainers.",
        )
    if not run.step:
        return notice("No steps yet", "What-if replays what the run has recorded.")
    config = _config_in_force(run)
    start = control_values(config)
    return html.Div(
        [
            Store(id="what-if-start", data=start),
            Store(id="what-if-group-size", data=config.rollout.group_size),
            Store(id="what-if-asked"),
            Store(id="what-if-answered"),
            Store(id="what-if-sink"),
            Store(id="what-if-shown"),
            html.Section(
                [
                    html.Div(
                        [
                            html.H2("Settings", className="chart-title"),
                            dmc.Button("Reset", id="what-if-reset", size="compact-xs", variant="subtle"),
                        ],
                        className="what-if-head",
                    ),
                    *controls(config, _values_in_address(config, start, query)),
                    Link(
                        dmc.Button("New run with these settings", fullWidth=True, size="sm", px="xs"),
                        id="what-if-submit",
                        href=_form_address(run.id, {}),
                        className="plain-link",
                        # Another trainer's config is none that ours could train.
                        style={} if is_trainable(run.method) else {"display": "none"},
                    ),
                ],
                id="what-if-controls",
                className="panel-card what-if-controls",
                **attributes(aria_label="Settings to replay with", data_methods=json.dumps(control_kinds(run.method))),
            ),
            html.Div(
                [
                    html.Div(id="what-if-problems", role="status"),
                    html.Div(
                        [
                            html.Div(id="what-if-changed", className="what-if-changes"),
                            html.Div(
                                [html.Div(className="what-if-total loading")] * len(WhatIfTotals.model_fields),
                                id="what-if-totals",
                                className="what-if-totals",
                            ),
                            html.P(id="what-if-words", className="what-if-words"),
                        ],
                        className="panel-card",
                    ),
                    html.Div(
                        [
                            chart_card(
                                name, title, text, question=question, height=height, wide=height > 300, kind=CHART
                            )
                            for name, title, question, text, height in CHARTS
                        ],
                        className="chart-grid",
                    ),
                ],
                className="what-if-results",
            ),
        ],
        className="what-if",
    )


def _config_in_force(run: RunDetail) -> RunConfig:
    return RunConfig.model_validate(config_in_force(run.config, run.applied_changes))


def _values_in_address(config: RunConfig, start: Mapping[str, Any], query: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the values in the address; those of the run if they make no legal config."""
    try:
        changed = parse_config(apply_changes(config.model_dump(mode="json"), parse_changes(query.get("set"))))
    except ConfigError:
        return start
    return control_values(changed, config.rollout.group_size) if changed.method.is_replayable else start


def _form_address(run_id: str, changes: Mapping[str, Any]) -> str:
    query = {"parent": run_id} | ({"set": changes_text(changes)} if changes else {})
    return f"/new?{urlencode(query, safe=':;~/')}"


def figures(answer: WhatIfAnswer, palette: Palette) -> dict[str, go.Figure]:
    """Return the figures by the names of their cards."""
    bands: tuple[tuple[str, Quantity, str, str, str], ...] = (
        ("what-if-rollouts", "rollouts", palette.series[1], "rollouts", "rollouts so far"),
        ("what-if-difficult", "difficult_size", palette.bad, "prompts", "prompts"),
        ("what-if-reusable", "high_quality_size", palette.reused, "groups", "groups"),
    )
    shares: tuple[tuple[str, Quantity, str, str], ...] = (
        ("what-if-fill", "fill_rate", palette.accent, "batch / B"),
        ("what-if-gradient", "gradient_share", palette.fresh, "fresh groups"),
    )
    return (
        {"what-if-composition": what_if_composition_figure(what_if_composition_data(answer), palette)}
        | {
            name: what_if_band_figure(
                what_if_band_data(answer, quantity, window=WINDOW_STEPS),
                palette,
                colour=colour,
                kind="share",
                unit="",
                title=title,
            )
            for name, quantity, colour, title in shares
        }
        | {
            name: what_if_band_figure(
                what_if_band_data(answer, quantity), palette, colour=colour, kind="count", unit=unit, title=title
            )
            for name, quantity, colour, unit, title in bands
        }
    )


def register(app: Dash, api: Api) -> None:
    """Replay while a control is being moved."""
    names = [name for name, *_ in CHARTS]
    values, ids = {"type": KIND, "field": ALL}, State({"type": KIND, "field": ALL}, "id")
    shown = {"type": f"{KIND}-shown", "field": ALL}
    clientside(
        app,
        "whatIf",
        "moved",
        Output("what-if-sink", "data"),
        Output("what-if-controls", "className"),
        Output(shown, "children"),
        Input(values, "value"),
        ids,
        State(shown, "id"),
        State("what-if-group-size", "data"),
    )
    in_browser = partial(clientside, app, "whatIf", initial=False)
    in_browser("answered", Output("what-if-shown", "data"), Input("what-if-answered", "data"))
    start = State("what-if-start", "data")
    in_browser("reset", Output(values, "value"), Input("what-if-reset", "n_clicks"), start, ids)

    @app.callback(
        *(Output({"type": CHART, "name": name}, "figure") for name in names),
        *(Output({"type": f"{CHART}-card", "name": name}, "className") for name in names),
        *(Output({"type": f"{CHART}-note", "name": name}, "children") for name in names),
        Output("what-if-totals", "children"),
        Output("what-if-words", "children"),
        Output("what-if-changed", "children"),
        Output("what-if-problems", "children"),
        Output("what-if-submit", "href"),
        Output("what-if-answered", "data"),
        Input("what-if-asked", "data"),
        Input("scheme", "data"),
        Input("run-reload", "data"),
        start,
        State({"type": f"{CHART}-card", "name": ALL}, "className"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def replay(
        asked: dict[str, Any] | None,
        scheme: str | None,
        _: int,
        start: dict[str, Any],
        classes: Sequence[str],
        run_id: str,
    ) -> Any:
        client = api.client()
        unchanged = [no_update] * (3 * len(names))
        if asked is None:
            raise PreventUpdate
        answered = {"number": asked["number"], "draws": asked["draws"]}
        try:
            run = await client.run(run_id)
            changes = changes_of(start, asked["values"], _config_in_force(run))
            request = WhatIfRequest(set=changes, draws=asked["draws"], max_points=MOST_POINTS)
            state = (run.id, run.revision, tuple(each.model_dump_json() for each in run.applied_changes))
            palette = palette_of(scheme)
            shown = await api.drawings.get(
                ("what-if", *state, request.model_dump_json(), palette.scheme),
                lambda: _shown(client, run_id, request, palette),
            )
        except FAILURES as error:
            alert = dmc.Alert(error_text(error), color="red", variant="light", title="Not possible", p="sm", mb="md")
            return *unchanged, *([no_update] * 3), alert, no_update, answered | {"failed": True}
        return (
            *(shown.figures[name] for name in names),
            *(" ".join(part for part in each.split() if part != "loading") for each in classes),
            *([shown.note] * len(names)),
            *shown.texts,
            _form_address(run_id, changes),
            answered | {"set": changes_text(changes), "num_draws": shown.num_draws},
        )


class Shown(NamedTuple):
    """The tab's view of an answer, shared by all who ask the same until the run records more."""

    figures: Mapping[str, Any]
    """By the names of their cards."""
    note: str
    """Beneath each figure."""
    texts: Sequence[Any]
    """Totals, summary, changed fields and cautions."""
    num_draws: int


async def _shown(client: AsyncClient, run_id: str, request: WhatIfRequest, palette: Palette) -> Shown:
    answer = await client.what_if(run_id, request)
    return Shown(
        {name: themed(figure, palette) for name, figure in figures(answer, palette).items()},
        "" if answer.sampled == "no" else f"{len(answer.steps):,} of {answer.num_steps:,} steps, with extremes",
        (total_row(totals(answer)), words(answer), changed_fields(answer, request.set), cautions(answer)),
        answer.num_draws,
    )
