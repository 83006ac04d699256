"""Several runs from one form: a grid of fields and values, with their number and cost while typing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html
from pydantic import ValidationError

from bapo.analysis.number_format import counted
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo
from bapo.api.studies import StudyPreview, StudyWrite
from bapo.config import ConfigError
from bapo.config.findings import problems_said
from bapo.figures import formatting
from frontend.components.actions import FAILURES, clientside
from frontend.components.config_form.inputs import FILLED, Filled, problem_list, problems_of
from frontend.components.config_form.values import values_of
from frontend.components.elements import attributes
from frontend.components.markup import Later
from frontend.pages.new_run import arms
from frontend.pages.new_run.summary import cost_row, with_range
from frontend.request.session import Api

NUM_ROWS = 4
"""Fields that can be varied at once in the form; the API takes more."""
MOST_NAMED = 12
START_RUNS = "Start the runs"


def grid_builder(infos: Sequence[ConfigFieldInfo]) -> html.Section:
    """Return a switch, and behind it rows of a field and its values."""
    rows = [
        html.Div(
            [
                dmc.Select(
                    id={"type": "grid-field", "row": row},
                    data=[info.path for info in infos],
                    placeholder="a field to vary",
                    searchable=True,
                    clearable=True,
                    size="sm",
                    **attributes(aria_label=f"Field {row + 1} to vary"),
                ),
                dmc.TextInput(
                    id={"type": "grid-values", "row": row},
                    value="",
                    size="sm",
                    placeholder="1..5" if row else "1/8, 1/4, 3/8",
                    **attributes(aria_label=f"Values of field {row + 1}"),
                ),
            ],
            className="grid-row",
        )
        for row in range(NUM_ROWS)
    ]
    return html.Section(
        [
            dmc.Switch(id="new-several", label="Several runs", checked=False, size="sm"),
            html.Div(
                [
                    dmc.Text(
                        "Every combination of the values becomes a run of one study. Separate values with commas; 1..5 "
                        "stands for 1, 2, 3, 4, 5. Separate values that have parts, such as c2, with semicolons: "
                        "1/8 1/2; 0 1/4.",
                        size="sm",
                        c="dimmed",
                        mt="xs",
                        mb="sm",
                    ),
                    # Each offers all fields: much to set up for a part that few open.
                    Later(html.Div(rows)),
                    html.Div(id="grid-preview", role="status"),
                ],
                id="grid-builder",
                style={"display": "none"},
            ),
        ],
        className="panel-card",
    )


def grid_of(
    infos: Mapping[str, ConfigFieldInfo], fields: Sequence[str | None], values: Sequence[str | None]
) -> dict[str, list[Any]]:
    """Read the rows as a grid: rows without a field are left out, and of a field named twice the last row counts."""
    return {
        field: values_of(infos[field], text or "")
        for field, text in zip(fields, values, strict=True)
        if field is not None and field in infos
    }


def preview_summary(preview: StudyPreview) -> list[Any]:
    """Return the number of runs, what is wrong with them, and their cost."""
    number = preview.num_runs
    what = counted(number, "run")
    totals = (
        ("rollouts of training", preview.rollouts, formatting.count),
        ("one after the other", preview.seconds, formatting.duration),
        ("compute hours", preview.compute_hours, lambda value: f"{value:,.2f}"),
        ("cost", preview.cost, lambda value: f"{value:,.2f} {preview.currency}"),
    )
    known = [cost_row(label, with_range(value, form)) for label, value, form in totals if value is not None]
    unknown = [dmc.Text("The cost is not known: no similar run has ended.", size="xs", c="dimmed")]
    problems = [
        FieldProblem(field=problem.field, value=problem.value, remedy=f"{run.name}: {problem.remedy}")
        for run in preview.runs
        for problem in run.problems
    ]
    named = [html.Li(run.name) for run in preview.runs[:MOST_NAMED]]
    if number > MOST_NAMED:
        named.append(html.Li(f"and {number - MOST_NAMED:,} more"))
    warned = problem_list(preview.warnings, colour="yellow", title="Check before starting")
    shown = problem_list(problems[:MOST_NAMED], colour="red", title=f"{preview.num_illegal:,} of {what} cannot run")
    return [
        html.Div(html.Strong(what, id="grid-count"), className="cost-row"),
        *([shown] if problems else known or unknown),
        *([warned] if preview.warnings else []),
        html.Ul(named, className="grid-runs"),
    ]


def register(app: Dash, api: Api) -> None:
    """Show the builder, and preview its plan whenever the form or the grid changes."""

    rows = [{"type": kind, "row": ALL} for kind in ("grid-field", "grid-values")]
    planned: list[dict[str, Any]] = [*rows, arms.PARTS]
    switch = Input("new-several", "checked")
    # As in the rest of the form, each keystroke is sent, so that none is missed when the runs are started.
    clientside(
        app,
        "form",
        "several",
        Output("grid-builder", "style"),
        switch,
        Input("new-typed", "data"),
        *(Input(each, "value") for each in planned),
    )
    clientside(app, "form", "label", Output("new-submit", "children"), switch, Input("grid-label", "data"))

    @app.callback(
        Output("grid-preview", "children"),
        Output("grid-label", "data"),
        Input("grid-asked", "data"),
        *(State(each, "value") for each in planned),
        State("new-name", "value"),
        *FILLED,
        prevent_initial_call=True,
    )
    async def show(
        _: int,
        fields: Sequence[str | None],
        texts: Sequence[str | None],
        parts: Sequence[Any],
        name: str | None,
        *form: Any,
    ) -> Any:
        try:
            plan = plan_of(fields, texts, parts, name, await Filled.read(api, *form))
            preview = None if plan is None else await api.client().preview_study(plan)
        except ValueError as error:
            return _no_plan(plan_problems(error))
        except FAILURES as error:
            return _no_plan(problems_of(error))
        if preview is None:
            hint = "Add an arm." if parts else "Choose a field and give its values."
            return dmc.Text(hint, size="sm", c="dimmed", mt="sm"), START_RUNS
        if preview.problems:
            return _no_plan(preview.problems)
        label = START_RUNS if preview.num_illegal else f"Start {counted(preview.num_runs, 'run')}"
        return preview_summary(preview), label


def _no_plan(problems: Sequence[FieldProblem]) -> tuple[Any, str]:
    return problem_list(problems, colour="red", title="Not a plan yet"), START_RUNS


def plan_problems(error: ValueError) -> list[FieldProblem]:
    """Return what is wrong with a plan that cannot be sent."""
    if isinstance(error, ConfigError):
        found = error.problems
    elif isinstance(error, ValidationError):
        found = tuple(problems_said(error.errors()))
    else:
        raise error
    return [FieldProblem(field=each.field or "arms", value=each.value, remedy=each.remedy) for each in found]


def plan_of(
    varied: Sequence[str | None],
    texts: Sequence[str | None],
    parts: Sequence[Any],
    name: str | None,
    filled: Filled,
) -> StudyWrite | None:
    """Return the study that form and grid, or a fork's arms, describe; None where nothing varies yet.

    Raises ConfigError or pydantic's ValidationError for arms that cannot be read.
    """
    if parts:
        return arms.plan_of(parts, name, filled)
    fields, changed = filled.changes()
    grid = grid_of({field.info.path: field.info for field in fields}, varied, texts)
    if not grid:
        return None
    return StudyWrite(
        name=(name or "").strip() or "grid",
        recipe=filled.start["recipe"],
        parent_id=filled.start["parent_id"],
        # What varies is no longer a change that all runs share.
        changes={field: value for field, value in changed.items() if field not in grid},
        grid=grid,
    )
