"""The callbacks of the form: the server checks it while it is being filled in, and takes it on submission."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from dash import ALL, Dash, Input, Output, State, ctx, no_update
from dash.exceptions import PreventUpdate
from pydantic import BaseModel

from bapo.api.base import FieldProblem
from bapo.api.runs import RunCreate, RunFork
from bapo.api.studies import StudyCreate, StudyWrite
from bapo.client import ApiError, AsyncClient
from bapo.methods.probe import probe_changes
from frontend.components.actions import FAILURES, Failure, clientside, unchanged
from frontend.components.config_form.fields import resets
from frontend.components.config_form.inputs import (
    FIELDS,
    FILLED,
    FORM,
    Filled,
    by_field,
    draft_of,
    hidden_fields,
    problem_list,
    problems_of,
    threshold_map,
)
from frontend.components.elements import pressed_in
from frontend.pages.new_run import arms, several
from frontend.pages.new_run.summary import (
    diff_summary,
    estimate_summary,
    theory_summary,
    typed_summary,
)
from frontend.request.session import Api

LONGEST_NAME = 200


def register(app: Dash, api: Api) -> None:
    """Register validation, recipes and submission."""
    _typing(app)
    _checking(app, api)
    _submitting(app, api)


def _typing(app: Dash) -> None:
    in_browser = partial(clientside, app, "form", initial=False)
    looks = State("new-looks", "data")
    in_browser("reset", Output(FIELDS, "value"), pressed_in(resets(FORM)), State(FIELDS, "id"), looks)
    # The inputs tell every keystroke, so that a submission never misses the last ones; the check waits for a pause.
    in_browser("pause", Output("new-sink", "data"), Input(FIELDS, "value"), State(FIELDS, "id"), looks)
    # To set something at each of a hundred fields takes Dash seconds; the browser sets what differs from what is there.
    in_browser("mark", Output("new-sink", "data", allow_duplicate=True), Input("new-checked", "data"), looks)


def _checking(app: Dash, api: Api) -> None:
    @app.callback(
        Output("new-checked", "data"),
        Output("new-problems", "children"),
        Output("new-diff", "children"),
        Output("new-theory", "children"),
        Output("new-map", "figure"),
        Output("new-map-note", "children"),
        Output("new-map-card", "style"),
        Output("new-submit", "disabled"),
        Output("new-probe", "disabled"),
        Output("new-draft", "disabled"),
        Output("new-side", "className"),
        Input("new-typed", "data"),
        Input("scheme", "data"),
        Input("new-project", "value"),
        *FILLED,
    )
    async def validate(_: int, scheme: str | None, project: str | None, *form: Any) -> Any:
        try:
            filled = await Filled.read(api, *form)
        except FAILURES as error:
            return _unchecked("Not checked", problems_of(error), no_update, no_update)
        fields, changed = filled.changes()
        paths = list(filled.typed)
        checked: dict[str, Any] = {"changed": list(changed), "hidden": hidden_fields(fields, *filled.types)}
        try:
            report = await api.client().validate(draft_of(filled.start, changed, project))
        except FAILURES as error:
            problems = problems_of(error)
            checked |= {"errors": by_field(problems, paths)[0], "warnings": {}}
            differs = typed_summary(fields, changed, checked["errors"], filled.start["origin"])
            return _unchecked("Fix this first", problems, checked, differs)
        checked |= {"errors": {}, "warnings": by_field(report.warnings, paths)[0]}
        listed = (
            problem_list(report.warnings, colour="yellow", title="Check before starting") if report.warnings else None
        )
        parts = (diff_summary(report, filled.start["origin"]), theory_summary(report))
        return checked, listed, *parts, *threshold_map(report, scheme), False, False, False, "form-side"

    @app.callback(
        Output("new-cost", "children"),
        Input("new-typed", "data"),
        *FILLED,
        # Problems are shown at their fields; the last estimate stays.
        on_error=unchanged,
    )
    async def estimate(_: int, *form: Any) -> Any:
        filled = await Filled.read(api, *form)
        draft = draft_of(filled.start, filled.changes()[1], None)
        return estimate_summary(await api.client().estimate(draft))


def _unchecked(title: str, problems: Sequence[FieldProblem], checked: Any, differs: Any) -> tuple[Any, ...]:
    """Return the outputs of a check without a report: estimate and map of the last good config stay, and say so."""
    listed = problem_list(problems, colour="red", title=title)
    return checked, listed, differs, *([no_update] * 4), True, True, True, "form-side stale"


def _submitting(app: Dash, api: Api) -> None:
    # In the browser: what leads to another page would ask the server once whenever the form is opened.
    in_browser = partial(clientside, app, "form", initial=False)
    start, search = State("new-start", "data"), Output("url", "search", allow_duplicate=True)
    in_browser("recipe", search, Input("new-recipe", "value"), start)
    in_browser("fork", search, Input("new-fork-step", "value"), start)
    in_browser("made", Output("url", "href", allow_duplicate=True), Input("new-made", "data"))

    @app.callback(
        Output("new-made", "data"),
        Output("new-problems", "children", allow_duplicate=True),
        Output("new-name", "error"),
        Input("new-submit", "n_clicks"),
        Input("new-draft", "n_clicks"),
        Input("new-probe", "n_clicks"),
        State("new-name", "value"),
        State("new-tags", "value"),
        State("new-project", "value"),
        State("new-several", "checked"),
        State({"type": "grid-field", "row": ALL}, "value"),
        State({"type": "grid-values", "row": ALL}, "value"),
        State(arms.PARTS, "value"),
        *FILLED,
        prevent_initial_call=True,
        running=[(Output("new-submit", "loading"), True, False)],
    )
    async def submit(
        start_clicks: int | None,
        draft_clicks: int | None,
        probe_clicks: int | None,
        name: str | None,
        tags: list[str] | None,
        project: str | None,
        is_several: bool,
        varied: Sequence[str | None],
        texts: Sequence[str | None],
        parts: Sequence[Any],
        *form: Any,
    ) -> Any:
        if not (start_clicks or draft_clicks or probe_clicks):
            raise PreventUpdate
        try:
            filled = await Filled.read(api, *form)
        except FAILURES as error:
            return _refused(error)
        probes = ctx.triggered_id == "new-probe"
        is_several = is_several and not probes
        try:
            plan = several.plan_of(varied, texts, parts, name, filled) if is_several else None
        except ValueError as error:
            return _not_submitted(several.plan_problems(error))
        if refusal := name_refusal(name or ""):
            problem = FieldProblem(field="name", remedy=refusal)
            return _not_submitted([problem], refusal)
        if is_several and plan is None:
            remedy = "add an arm" if parts else "choose a field to vary and give its values"
            return _not_submitted([FieldProblem(field="arms" if parts else "several runs", remedy=remedy)])
        starts = ctx.triggered_id != "new-draft"
        wanted = Wanted(str(name).strip(), tags or (), project, filled.changes()[1], plan)
        try:
            if probes:
                wanted = await _probe_of(api.client(), filled.start, wanted)
            address = await _made(api.client(), filled.start, wanted, starts=starts)
        except FAILURES as error:
            return _refused(error)
        return address, None, None


def _refused(error: Failure) -> tuple[Any, Any, str | None]:
    request = f" (request {error.body.request_id})" if isinstance(error, ApiError) else ""
    return _not_submitted(problems_of(error), request=request)


def _not_submitted(
    problems: Sequence[FieldProblem], at_name: str | None = None, request: str = ""
) -> tuple[Any, Any, str | None]:
    return no_update, problem_list(problems, colour="red", title=f"Not submitted{request}"), at_name


def name_refusal(name: str) -> str | None:
    """Return what is wrong with a run's name."""
    length = len(name.strip())
    if length > LONGEST_NAME:
        return f"it has {length:,} characters: shorten it to at most {LONGEST_NAME}"
    return None if length else "give the run a name"


class Wanted(NamedTuple):
    """The run to submit."""

    name: str
    tags: Sequence[str]
    project: str | None
    changes: Mapping[str, Any]
    plan: StudyWrite | None


async def _probe_of(client: AsyncClient, start: Mapping[str, Any], wanted: Wanted) -> Wanted:
    """Return the probe of a run, without the settings of its method, which do not apply to it."""
    report = await client.validate(draft_of(start, wanted.changes, wanted.project))
    own = {path: value for path, value in wanted.changes.items() if not path.startswith("method.")}
    name = f"Probe: {wanted.name}"[:LONGEST_NAME]
    return wanted._replace(name=name, changes=own | probe_changes(report.config))


async def _made(client: AsyncClient, start: Mapping[str, Any], wanted: Wanted, *, starts: bool) -> str:
    """Create the run, the fork or the runs of a grid and return the page's address. Repeating it creates nothing."""
    common = {"name": wanted.name, "tags": wanted.tags, "start": starts}
    if wanted.plan is not None:
        project = None if start.get("fork") else wanted.project
        study = StudyCreate(**wanted.plan.model_dump() | {"project": project}, tags=wanted.tags, start=starts)
        return f"/studies/{(await client.create_study(study, _key(start, study))).id}"
    if start.get("fork"):
        fork = RunFork(step=start["fork"]["step"], changes=wanted.changes, **common)
        return f"/runs/{(await client.fork(start['fork']['run_id'], fork, _key(start, fork))).id}"
    source = {"recipe": start["recipe"], "parent_id": start["parent_id"], "project": wanted.project}
    body = RunCreate(**source, changes=wanted.changes, **common)
    return f"/runs/{(await client.create_run(body, _key(start, body))).id}"


def _key(start: Mapping[str, Any], body: BaseModel) -> str:
    """Return the idempotency key: a form that was corrected after a refusal is another request."""
    return f"{start['key']}-{hashlib.sha256(body.model_dump_json().encode()).hexdigest()[:16]}"
