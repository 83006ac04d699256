"""What the form does: the server checks it while people type, and takes it when they submit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
from dash import ALL, Dash, Input, Output, State, ctx, no_update
from pydantic import TypeAdapter

from bapo.api import ConfigDraft, ConfigFieldInfo, FieldProblem, RunCreate
from bapo.client import ApiError
from frontend.clientside import clientside
from frontend.components.chart_card import BLANK_FIGURE
from frontend.components.notices import error_text
from frontend.figures.threshold_map import threshold_map_data, threshold_map_figure
from frontend.pages.new_run.summary import (
    diff_summary,
    estimate_summary,
    problem_list,
    starvation_note,
    theory_summary,
)
from frontend.pages.new_run.values import FormField, changes, knows
from frontend.session import Api
from frontend.theme import palette_of, themed

FORM = "new"
METHOD = "method.type"

_INFOS = TypeAdapter(list[ConfigFieldInfo])

Ids = Sequence[Mapping[str, Any]]


def form_fields(infos: Sequence[ConfigFieldInfo], base: Mapping[str, Any]) -> list[FormField]:
    """Each field with the value it starts from: the base's, else its default."""
    return [FormField(info, base.get(info.path, info.default)) for info in infos]


DEFAULT_PROJECT = "default"


def first_choice(projects: Sequence[str], wanted: str | None) -> str | None:
    """The project that the form begins with: the wanted one, the only one, or the default one; None: choose."""
    for name in (wanted, *(projects if len(projects) == 1 else ()), DEFAULT_PROJECT):
        if name in projects:
            return name
    return None


def typed_values(ids: Ids, values: Sequence[Any]) -> dict[str, list[Any]]:
    """Group the inputs of each field, in the order of their parts."""
    typed: dict[str, list[Any]] = {}
    for identifier, value in sorted(zip(ids, values, strict=True), key=lambda pair: pair[0]["part"]):
        typed.setdefault(identifier["path"], []).append(value)
    return typed


def by_field(problems: Sequence[FieldProblem], paths: Sequence[str]) -> tuple[dict[str, str], list[FieldProblem]]:
    """Remedies by the form's fields, and the problems of fields that the form does not have.

    A problem inside a field, such as `method.c2.0`, belongs to the field.
    """
    placed: dict[str, str] = {}
    others = []
    for problem in problems:
        owner = next((path for path in paths if problem.field == path or problem.field.startswith(path + ".")), None)
        if owner is None:
            others.append(problem)
        else:
            placed[owner] = f"{placed[owner]}; {problem.remedy}" if owner in placed else problem.remedy
    return placed, others


def problems_of(error: ApiError) -> list[FieldProblem]:
    """All problems of a refusal."""
    body = error.body
    if body.problems:
        return list(body.problems)
    return [FieldProblem(field=body.field or "config", value=body.value, remedy=body.remedy)]


def slot_class(name: str, *, is_known: bool, is_changed: bool) -> str:
    """Classes of a field: hidden where its method has none, marked where it differs from where the form started."""
    kept = [part for part in name.split() if part not in ("hidden", "changed")]
    return " ".join([*kept, *(["changed"] * is_changed), *(["hidden"] * (not is_known))])


def register(app: Dash, api: Api) -> None:
    """Validation, recipes, submission."""
    clientside(
        app,
        "form",
        "reset",
        Output({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        Input({"type": f"{FORM}-reset", "path": ALL}, "n_clicks"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State("new-start", "data"),
        initial=False,
    )
    # The inputs tell every keystroke, so that a submission never misses the last ones; the check waits for a pause.
    clientside(
        app,
        "form",
        "pause",
        Output("new-told", "data"),
        Input({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        initial=False,
    )

    @app.callback(
        Output({"type": f"{FORM}-wrap", "path": ALL}, "error"),
        Output({"type": f"{FORM}-warning", "path": ALL}, "children"),
        Output({"type": f"{FORM}-slot", "path": ALL}, "className"),
        Output("new-problems", "children"),
        Output("new-diff", "children"),
        Output("new-theory", "children"),
        Output("new-map", "figure"),
        Output("new-map-note", "children"),
        Output("new-map-card", "style"),
        Output("new-submit", "disabled"),
        Output("new-draft", "disabled"),
        Input("new-typed", "data"),
        Input("scheme", "data"),
        Input("new-project", "value"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State({"type": f"{FORM}-slot", "path": ALL}, "className"),
        State("new-start", "data"),
        State("new-fields", "data"),
    )
    async def validate(
        _: int,
        scheme: str | None,
        project: str | None,
        values: Sequence[Any],
        ids: Ids,
        classes: Sequence[str],
        start: dict[str, Any],
        infos: Any,
    ) -> Any:
        fields = form_fields(_INFOS.validate_python(infos), start["base"])
        typed = typed_values(ids, values)
        method = str(typed[METHOD][0])
        paths = [output["id"]["path"] for output in ctx.outputs_list[0]]
        known = {field.info.path: knows(field.info, method) for field in fields}
        changed = changes(fields, typed, method)
        slots = [
            slot_class(name, is_known=known[path], is_changed=path in changed)
            for name, path in zip(classes, paths, strict=True)
        ]
        draft = ConfigDraft(recipe=start["recipe"], parent_id=start["parent_id"], changes=changed, project=project)
        try:
            report = await api.client().validate(draft)
        except ApiError as error:
            errors, _others = by_field(problems_of(error), paths)
            listed = problem_list(problems_of(error), colour="red", title="Mend this first")
            return (
                [errors.get(path) for path in paths],
                [None] * len(paths),
                slots,
                listed,
                *([no_update] * 5),
                True,
                True,
            )
        except httpx.TransportError as error:
            return (
                *([[no_update] * len(paths)] * 2),
                slots,
                error_text(error),
                *([no_update] * 5),
                True,
                True,
            )
        warnings, _others = by_field(report.warnings, paths)
        listed = problem_list(report.warnings, colour="yellow", title="It will run, but") if report.warnings else None
        if report.threshold_map:
            palette = palette_of(scheme)
            figure = themed(threshold_map_figure(threshold_map_data(report.threshold_map), palette), palette)
        else:
            figure = BLANK_FIGURE
        return (
            [None] * len(paths),
            [warnings.get(path) for path in paths],
            slots,
            listed,
            diff_summary(report, start["origin"]),
            theory_summary(report),
            figure,
            starvation_note(report),
            {} if report.threshold_map else {"display": "none"},
            False,
            False,
        )

    @app.callback(
        Output("new-cost", "children"),
        Input("new-typed", "data"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State("new-start", "data"),
        State("new-fields", "data"),
    )
    async def estimate(_: int, values: Sequence[Any], ids: Ids, start: dict[str, Any], infos: Any) -> Any:
        fields = form_fields(_INFOS.validate_python(infos), start["base"])
        typed = typed_values(ids, values)
        changed = changes(fields, typed, str(typed[METHOD][0]))
        draft = ConfigDraft(recipe=start["recipe"], parent_id=start["parent_id"], changes=changed)
        try:
            return estimate_summary(await api.client().estimate(draft))
        except (ApiError, httpx.TransportError):
            # What is wrong stands at its field; the last estimate stays.
            return no_update

    @app.callback(
        Output("url", "search", allow_duplicate=True),
        Input("new-recipe", "value"),
        State("new-start", "data"),
        prevent_initial_call=True,
    )
    def choose_recipe(recipe: str, start: dict[str, Any]) -> Any:
        return no_update if recipe == start["recipe"] else f"?recipe={recipe}"

    @app.callback(
        Output("url", "pathname", allow_duplicate=True),
        Output("url", "search", allow_duplicate=True),
        Output("new-problems", "children", allow_duplicate=True),
        Output("new-name", "error"),
        Input("new-submit", "n_clicks"),
        Input("new-draft", "n_clicks"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "value"),
        State({"type": f"{FORM}-field", "path": ALL, "part": ALL}, "id"),
        State("new-name", "value"),
        State("new-tags", "value"),
        State("new-project", "value"),
        State("new-start", "data"),
        State("new-fields", "data"),
        prevent_initial_call=True,
        running=[(Output("new-submit", "loading"), True, False)],
    )
    async def submit(
        start_clicks: int | None,
        draft_clicks: int | None,
        values: Sequence[Any],
        ids: Ids,
        name: str | None,
        tags: list[str] | None,
        project: str | None,
        start: dict[str, Any],
        infos: Any,
    ) -> Any:
        if not start_clicks and not draft_clicks:
            return no_update, no_update, no_update, no_update
        if not (name or "").strip():
            return no_update, no_update, no_update, "Give the run a name: it is how people find it."
        fields = form_fields(_INFOS.validate_python(infos), start["base"])
        typed = typed_values(ids, values)
        body = RunCreate(
            recipe=start["recipe"],
            parent_id=start["parent_id"],
            changes=changes(fields, typed, str(typed[METHOD][0])),
            name=str(name).strip()[:200],
            tags=tags or (),
            project=project,
            start=ctx.triggered_id == "new-submit",
        )
        try:
            run = await api.client().create_run(body, idempotency_key=f"{start['key']}-{body.start}")
        except ApiError as error:
            listed = problem_list(
                problems_of(error), colour="red", title=f"Not submitted (request {error.body.request_id})"
            )
            return no_update, no_update, listed, None
        except httpx.TransportError as error:
            listed = problem_list(
                [FieldProblem(field="server", remedy=error_text(error))], colour="red", title="Not submitted"
            )
            return no_update, no_update, listed, None
        return f"/runs/{run.id}", "", None, None
