"""Two cards of several pages: the fields on which a result of several runs depends, and the runs as lines over them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from dash import Dash, Input, Output, State, html
from dash.exceptions import PreventUpdate

from bapo.analysis.importance_results import importance_notes, share_note
from bapo.analysis.number_format import bounds_text, counted
from bapo.api.compare import ParameterImportance, VariedRun
from bapo.figures import formatting
from bapo.figures.parallel_coordinates import ParallelRun, parallel_coordinates_data, parallel_coordinates_figure
from bapo.figures.parameter_importance import (
    importance_height,
    parameter_importance_data,
    parameter_importance_figure,
)
from bapo.figures.theme import Palette, palette_of, themed
from frontend.components.actions import in_place
from frontend.components.card import figure_card
from frontend.components.choices import choices
from frontend.components.controls import small_select
from frontend.components.elements import Graph, Link
from frontend.components.symbols import short_name
from frontend.components.table import cell, row, table

METRICS = (
    ("eval_latest", "latest evaluation"),
    ("eval_best", "best evaluation"),
    ("eval_change", "change of the evaluation"),
    ("reward_mean", "mean reward"),
    ("num_rollouts", "rollouts"),
    ("duration", "duration in seconds"),
    ("compute_hours", "compute hours"),
)
SHARES = ("eval_latest", "eval_best", "eval_change")
"""Metrics that are shown in percent."""
EXPLANATION = (
    "How much of the variance of the result each field explains beyond chance, with its 95 % interval. The dotted mark "
    "is the level that chance stays under; a pale bar is no evidence that the field matters."
)
BRUSHING = "Drag along an axis, or choose under Ranges, to keep the runs within; press a point to open its run."
MOST_LINES = 500

Fetch = Callable[[str, Any], Awaitable[ParameterImportance | None]]
"""Metric and the page's own state → what is shown; None where the page has nothing to compare."""


def importance_cards(name: str, metrics: Sequence[str] = ()) -> list[Any]:
    """Return the cards, which a callback fills; `name` is that of the page, `metrics` further ones by key."""
    data = choices([*METRICS, *((f"metric.{key}", key) for key in metrics)])
    return [
        figure_card(
            html.Div(
                [
                    html.P(EXPLANATION, className="chart-note"),
                    small_select(f"{name}-metric", "Result to explain", METRICS[0][0], data, searchable=True),
                ],
                className="importance-head",
            ),
            Graph(f"{name}-importance", style={"display": "none"}),
            html.Div(id=f"{name}-importance-notes", role="status"),
            title="Parameter importance",
        ),
        figure_card(
            html.Div(
                [
                    html.Span(BRUSHING, className="chart-note"),
                    html.Span(
                        [
                            html.Span("", className="parallel-count"),
                            html.Button("Show all", className="text-button parallel-clear", type="button", hidden=True),
                        ],
                        role="status",
                    ),
                ],
                className="importance-head",
            ),
            Graph(f"{name}-parallel", style={"height": 380}),
            html.Div(id=f"{name}-parallel-table"),
            title="Parallel coordinates",
            look="parallel-card",
        ),
    ]


def register_importance(app: Dash, name: str, fetch: Fetch, ready: Input, state: State) -> None:
    """Fill the cards of a page as soon as `ready` has data, and again when these change."""

    @app.callback(
        Output(f"{name}-importance", "figure"),
        Output(f"{name}-importance", "style"),
        Output(f"{name}-importance-notes", "children"),
        Output(f"{name}-parallel", "figure"),
        Output(f"{name}-parallel-table", "children"),
        Input(f"{name}-metric", "value"),
        Input("scheme", "data"),
        ready,
        state,
        on_error=in_place(f"{name}-importance-notes"),
    )
    async def fill(metric: str, scheme: str | None, is_ready: Any, of_page: Any) -> Any:
        if is_ready is None:
            raise PreventUpdate
        found = await fetch(metric, of_page)
        if found is None:
            return None, {"display": "none"}, None, None, None
        palette = palette_of(scheme)
        rows = parameter_importance_data(found.importance, short_name)
        style = {"height": importance_height(rows)} if rows else {"display": "none"}
        figure = themed(parameter_importance_figure(rows, palette), palette) if rows else None
        return figure, style, _notes(found), _lines(found, palette), _table(found)


def _notes(found: ParameterImportance) -> list[Any]:
    lines = [html.P(line, className="chart-note") for line in importance_notes(found.importance)]
    if not found.importance.shares:
        return lines
    head = ("Field", "Share", "95 % interval", "Chance up to", "Beyond chance", "Note")
    rows = [
        row(
            html.Code(" × ".join(each.fields)),
            cell(formatting.percent(each.value), "number"),
            cell(bounds_text(each.low, each.high, formatting.percent), "number"),
            cell(formatting.percent(each.null), "number"),
            "yes" if each.is_shown else "no",
            share_note(each),
        )
        for each in found.importance.shares
    ]
    return [*lines, _details("As a table", table(head, rows, "study-table"))]


def _details(title: str, content: Any) -> html.Details:
    return html.Details([html.Summary(title), content], className="importance-table")


def result_text(metric: str, value: float | None) -> str:
    """Return a result as people read it."""
    if metric == "reward_mean":
        return formatting.reward(value)
    if metric in SHARES:
        return formatting.percent(value)
    return formatting.MISSING if value is None else f"{value:.4g}"


def _known(found: ParameterImportance) -> list[VariedRun]:
    return [run for run in found.runs if run.result is not None][:MOST_LINES]


def _lines(found: ParameterImportance, palette: Palette) -> Any:
    runs = _known(found)
    if not runs:
        return None
    results = [float(run.result or 0.0) for run in runs]
    texts = [
        ", ".join(
            [
                f"{run.name}: {result_text(found.metric, run.result)}",
                *(f"{short_name(field)} = {formatting.config_value(value)}" for field, value in run.set.items()),
            ]
        )
        for run in runs
    ]
    data = parallel_coordinates_data(
        {field: short_name(field) for field in _telling(found)},
        [
            ParallelRun(run.run_id, run.set, result, result_text(found.metric, result), text)
            for run, result, text in zip(runs, results, texts, strict=True)
        ],
        found.eval_name or dict(METRICS).get(found.metric, found.metric.removeprefix("metric.")),
        {str(value): formatting.config_value(value) for run in runs for value in run.set.values()},
    )
    return themed(parallel_coordinates_figure(data, palette), palette)


def _telling(found: ParameterImportance) -> Sequence[str]:
    """Return the fields as axes: of those that change in step the first alone."""
    twins = {field for each in found.importance.shares for field in each.together_with}
    return [field for field in found.fields if field not in twins]


def _table(found: ParameterImportance) -> Any:
    runs = _known(found)
    missing = len(found.runs) - sum(run.result is not None for run in found.runs)
    notes = [
        *([html.P(f"{counted(missing, 'run')} without a result yet.", className="chart-note")] if missing else []),
        *([html.P("No run has a result yet.", className="chart-note")] if not runs else []),
    ]
    if not runs:
        return notes
    fields = _telling(found)
    rows = [
        row(
            Link(run.name, href=f"/runs/{run.run_id}", className="study-run", title=run.name),
            *(formatting.config_value(run.set.get(field)) for field in fields),
            cell("" if run.seed is None else str(run.seed), "number"),
            cell(result_text(found.metric, run.result), "number"),
            attributes={"data-run": run.run_id},
        )
        for run in sorted(runs, key=lambda each: -(each.result or 0.0))
    ]
    head = ("Run", *map(short_name, fields), "Seed", "Result")
    # Filled by assets/parallel.js, which knows the stretches that are dragged over.
    ranges = _details("Ranges", html.Div(className="parallel-ranges"))
    return [*notes, ranges, _details("As a table", table(head, rows, "study-table"))]
