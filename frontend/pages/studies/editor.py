"""A new study as a form next to its file, each of which follows the other, checked while typing."""

from __future__ import annotations

import asyncio
import base64
import binascii
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, html, no_update, set_props
from dash.exceptions import PreventUpdate

from bapo.analysis.number_format import counted
from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo
from bapo.api.studies import StudyCreate, StudyPreview, StudyWrite
from bapo.client import ApiError
from bapo.config import ConfigError, apply_changes, resolve
from bapo.config.recipes import shipped_recipes
from bapo.study.plan import test_sets_of
from frontend.components.actions import (
    FAILURES,
    Failure,
    clientside,
    failure_alert,
    go_to,
    in_toast,
    on_failure,
    show,
    tell,
    when_pressed,
)
from frontend.components.card import page_heading
from frontend.components.choices import project_select, writable_projects
from frontend.components.config_form.fields import TextArea
from frontend.components.config_form.inputs import config_infos
from frontend.components.elements import FileInput, Link, Store
from frontend.components.icon import icon
from frontend.components.notices import nothing_to_write
from frontend.components.page import Page
from frontend.pages.studies.changes import with_change, with_field
from frontend.pages.studies.form import FOLLOWING, FORM, Drawing
from frontend.pages.studies.form_model import (
    Document,
    by_key,
    items_of,
    members,
    table_at,
    with_inputs,
)
from frontend.pages.studies.preview import preview_panel, problem_items
from frontend.pages.studies.rewriting import rewritten
from frontend.pages.studies.starts import EMPTY, SHIPPED, STUDY, offered, text_of, text_of_runs
from frontend.request.session import Api

FIELDS = {"type": f"{FORM}-field", "path": ALL, "part": ALL}
"""Every input of the form."""
SHOWN = [
    State("study-text", "value"),
    State("study-written", "data"),
    State(FIELDS, "value"),
    State(FIELDS, "id"),
]
"""States of the file and of the form next to it, as `_edited` takes them."""
Infos = Mapping[str, ConfigFieldInfo]
"""By path."""

MOST_BYTES = 400_000
ABOUT = (
    "A study declares what is compared, with which seeds, on which test sets, and which comparison decides. It cannot "
    "be changed once the first run exists. For a grid of runs without a report, turn on “Several runs” in the form of "
    "a new run."
)


async def layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """Return the form."""
    client = api.client()
    me = await client.me()
    projects = writable_projects(me)
    if not projects:
        return nothing_to_write("Studies are made by members of a project")
    shipped, studies, infos, recipes = await asyncio.gather(
        client.shipped_studies(), client.studies(limit=100), _infos(api), client.recipes()
    )
    run_ids = [each for each in query.get("runs", "").split(",") if each]
    start = (
        f"{STUDY}{query['study']}" if query.get("study") else f"{SHIPPED}{query['from']}" if query.get("from") else None
    )
    known = {f"{SHIPPED}{each.name}" for each in shipped.items} | {f"{STUDY}{each.id}" for each in studies.items}
    start = start if start in known else None
    text = await (text_of_runs(client, run_ids) if run_ids else text_of(client, start or EMPTY))
    document = tomllib.loads(text)
    names = [each.name for each in recipes.items]
    return html.Div(
        [
            Link("Studies", href="/studies", className="crumb"),
            page_heading("New study", ABOUT),
            Store(id="study-recipes", data=names),
            Store(id="study-settled", data=text),
            Store(id="study-written", data=text),
            Store(id="study-answer"),
            Store(id="study-press"),
            Store(id="study-found", data={}),
            Store(id="study-drawn", data=0),
            Store(id="study-typed", data=0),
            html.Div(id="study-form-sink", hidden=True),
            html.Div(
                [
                    html.Div(
                        [
                            html.Div(
                                _starts(offered(shipped.items, studies.items), start),
                                className="panel-card study-starts",
                            ),
                            html.Div(drawn(document, infos, names), id="study-form", className="panel-stack"),
                        ],
                        className="panel-stack",
                    ),
                    html.Div(
                        [_summary(projects, query.get("project")), _file(text)], className="panel-stack study-side"
                    ),
                ],
                className="study-form",
            ),
        ]
    )


def drawn(document: Document, infos: Mapping[str, ConfigFieldInfo], recipes: Sequence[str]) -> list[Any]:
    """Return the form of a file, with the test sets that its task is known to have."""
    return Drawing(document, infos, recipes, _offered_sets(document)).parts()


def _offered_sets(document: Document) -> Sequence[str]:
    base = next((recipe.explicit for recipe in shipped_recipes() if recipe.name == document.get("recipe")), {})
    try:
        config = resolve(
            apply_changes(base, {**table_at(document, ("config",)), **table_at(document, ("set",))})
        ).config
    except ConfigError:
        return ()
    return test_sets_of(config.task) or ()


def _starts(data: Sequence[Mapping[str, Any]], start: str | None) -> list[Any]:
    return [
        dmc.Select(
            id="study-start",
            label="Start from",
            placeholder="An empty study, a shipped one, or one of yours",
            data=list(data),
            value=start,
            searchable=True,
            size="sm",
        ),
        FileInput(
            html.Button("Drop a .toml file here, or choose one", type="button", className="study-drop"),
            id="study-upload",
            max_size=MOST_BYTES,
            accept=".toml",
        ),
        dmc.Text("Or choose runs in the list of runs, and press “Study”.", size="xs", c="dimmed"),
    ]


def _summary(projects: Sequence[str], project: str | None) -> dmc.Stack:
    return dmc.Stack(
        [
            project_select("study-project", projects, project),
            dmc.NumberInput(
                id="study-priority",
                label="Priority",
                description="In the queue, 0 to 100; higher first.",
                value=50,
                min=0,
                max=100,
                allowDecimal=False,
                size="sm",
            ),
            html.Div(id="study-refusal", className="form-problems"),
            dmc.Button(
                "Make the runs",
                id="study-create",
                leftSection=icon("play", 16),
                disabled=True,
                fullWidth=True,
            ),
            # Below the button, which would move under the pointer when the answer comes.
            html.Div(id="study-preview", role="status"),
        ],
        gap="md",
        className="panel-card",
    )


def _file(text: str) -> html.Div:
    return html.Div(
        dmc.InputWrapper(
            # Not Mantine's, which keeps a copy and would bring back a text that was replaced while the page was busy.
            TextArea(id="study-text", value=text, rows=16, className="study-file"),
            label="Study file",
            description="Form and file follow each other. Comments stay, except inside a value or a table that the "
            "form rewrites.",
            labelProps={"htmlFor": "study-text"},
        ),
        className="panel-card",
    )


PAGES = (Page("/studies/new", layout, section="studies", query_makes_page=True),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: filling in the file, checking it, creating the study."""

    _following(app, api)
    clientside(
        app,
        "studyForm",
        "mark",
        Output("study-form-sink", "children"),
        Input("study-found", "data"),
        Input("study-drawn", "data"),
        initial=False,
    )

    @app.callback(
        Output("study-text", "value", allow_duplicate=True),
        Output("study-refusal", "children", allow_duplicate=True),
        Input("study-start", "value"),
        prevent_initial_call=True,
        on_error=in_toast("Could not open that study"),
    )
    async def start(chosen: str | None) -> Any:
        return (no_update, no_update) if chosen is None else (await text_of(api.client(), chosen), "")

    @app.callback(
        Output("study-text", "value", allow_duplicate=True),
        Output("study-refusal", "children", allow_duplicate=True),
        Input("study-upload", "contents"),
        State("study-upload", "filename"),
        prevent_initial_call=True,
    )
    def upload(contents: str | None, name: str | None) -> Any:
        if not contents:
            return no_update, no_update
        try:
            return base64.b64decode(contents.partition(",")[2]).decode("utf-8"), ""
        except (binascii.Error, UnicodeDecodeError):
            text = f"{name} is no text file: a study is written as TOML."
            return no_update, dmc.Alert(text, color="red", variant="light", mt="sm")

    @app.callback(
        Output("study-preview", "children"),
        Output("study-create", "disabled"),
        Output("study-create", "children"),
        Output("study-found", "data"),
        Input("study-settled", "data"),
        Input("study-project", "value"),
    )
    async def preview(text: str | None, project: str | None) -> Any:
        if not (text or "").strip():
            hint = "Choose a start, or paste a file, to see what it would make."
            return html.P(hint, className="study-question"), True, "Make the runs", {}
        try:
            found, infos = await asyncio.gather(
                api.client().preview_study(StudyWrite(text=text or "", project=project)), _infos(api)
            )
        except ValueError:
            return dmc.Alert("The file is too long.", color="red", variant="light"), True, "Make the runs", no_update
        except FAILURES as error:
            return failure_alert(error, "yellow"), True, "Make the runs", no_update
        label = "Make the runs" if found.problems else f"Make the {counted(found.num_runs, 'run')}"
        return preview_panel(found), bool(found.problems), label, _marks(found, text or "", infos)

    @when_pressed(
        app,
        "study-create",
        states=[State("study-project", "value"), State("study-priority", "value"), *SHOWN],
        on_error=on_failure(lambda error: show("study-refusal", _refusal(error))),
        busy="study-create",
    )
    async def create(_: str, project: str | None, priority: Any, text: str, *shown: Any) -> None:
        show("study-refusal", "")
        edited = _edited(await _infos(api), text, *shown)
        if edited is not None:
            text = rewritten(text, edited.typed)
        try:
            body = StudyCreate(text=text, project=project, priority=priority if priority not in ("", None) else 50)
        except ValueError as error:
            problem = FieldProblem(field="priority", value=priority, remedy=str(error))
            show("study-refusal", problem_items([problem]))
            return
        go_to(f"/studies/{(await api.client().create_study(body)).id}")


class _Edited(NamedTuple):
    """A study file, and the values of the form next to it."""

    document: Document
    typed: Document
    """The file with what was typed into the form a moment ago."""
    infos: Infos
    values: Sequence[Any]
    ids: Sequence[Mapping[str, Any]]


def _edited(
    infos: Infos, text: str | None, written_text: str, values: Sequence[Any], ids: Sequence[Mapping[str, Any]]
) -> _Edited | None:
    """Return the file with the form's values; None if the file cannot be read."""
    document = _document(text)
    if document is None:
        return None
    # A file that was edited since is newer than what the form shows, which is about to be redrawn.
    typed = with_inputs(document, infos, ids, values) if text == written_text else document
    return _Edited(document, typed, infos, values, ids)


def _marks(found: StudyPreview, text: str, infos: Infos) -> dict[str, str]:
    """Return what is wrong at each input; problems without an input are shown only in the preview."""
    document = _document(text)
    if document is None:
        return {}
    return by_key(found.problems, document, list(items_of(document, infos)))


def _document(text: str | None) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


async def _infos(api: Api) -> Infos:
    return {info.path: info for info in await config_infos(api)}


def _following(app: Dash, api: Api) -> None:
    """Register the callbacks that update form and file from each other, except with what the other wrote itself."""
    clientside(app, "studyForm", "settle", Output("study-settled", "data"), Input("study-text", "value"), initial=False)

    @app.callback(
        Output("study-form", "children"),
        Output("study-drawn", "data"),
        Output("study-written", "data"),
        Input("study-settled", "data"),
        State("study-written", "data"),
        State("study-drawn", "data"),
        State("study-recipes", "data"),
        prevent_initial_call=True,
    )
    async def draw(text: str | None, written_text: str, number: int, recipes: Sequence[str]) -> Any:
        document = _document(text)
        # While the file cannot be read, the form keeps what it has.
        if text == written_text or document is None:
            raise PreventUpdate
        return drawn(document, await _infos(api), recipes), number + 1, text

    # The inputs tell every keystroke, so that making the runs never misses the last ones; writing waits for a pause.
    clientside(
        app,
        "studyForm",
        "pause",
        Output("study-form-sink", "children", allow_duplicate=True),
        Input(FIELDS, "value"),
        initial=False,
    )
    clientside(
        app,
        "studyForm",
        "written",
        Output("study-text", "value", allow_duplicate=True),
        Output("study-written", "data", allow_duplicate=True),
        Input("study-answer", "data"),
        State("study-text", "value"),
        initial=False,
    )
    clientside(
        app,
        "studyForm",
        "press",
        Output("study-press", "data"),
        Input({"type": "study-op", "action": ALL, "place": ALL}, "n_clicks"),
        Input({"type": "study-add", "place": ALL}, "value"),
        initial=False,
    )

    @app.callback(Output("study-answer", "data"), Input("study-typed", "data"), *SHOWN, prevent_initial_call=True)
    async def write(_: int, text: str | None, written_text: str, *shown: Any) -> Any:
        edited = _edited(await _infos(api), text, written_text, *shown)
        if edited is None:
            tell("The study file cannot be read as TOML. Fix it first; the form then follows.", "Not written", "red")
            raise PreventUpdate
        if edited.typed == edited.document:
            raise PreventUpdate
        new = rewritten(text or "", edited.typed)
        answer = {"base": text, "text": new, "drawn": written_text}
        if _outline(edited.typed) != _outline(edited.document):
            # Another recipe or method changes which fields there are: the form is redrawn.
            return answer
        _show_inputs(edited)
        return {**answer, "drawn": new}

    @app.callback(
        Output("study-text", "value", allow_duplicate=True),
        Input("study-press", "data"),
        *SHOWN,
        prevent_initial_call=True,
    )
    async def change(pressed: Mapping[str, Any], text: str | None, *shown: Any) -> Any:
        edited = _edited(await _infos(api), text, *shown)
        if edited is None:
            raise PreventUpdate
        if pressed["type"] == "study-add":
            changed = with_field(edited.typed, pressed["place"], pressed["value"], edited.infos)
        else:
            changed = with_change(edited.typed, pressed["action"], pressed["place"])
        return rewritten(text or "", changed)


def _outline(document: Document) -> Any:
    """Return what decides which fields the form has."""
    return [arm.get("method") for arm in members(document, "arms")], document.get("recipe")


def _show_inputs(edited: _Edited) -> None:
    """Update the inputs that depend on others, the number of runs and choices of arms, from the file."""
    before, after = (Drawing(document, edited.infos, (), ()) for document in (edited.document, edited.typed))
    for identifier, value in zip(edited.ids, edited.values, strict=True):
        key = identifier["path"]
        if key not in (*FOLLOWING, "num_runs"):
            continue
        changed = {"value": now} if (now := after.value_of(key)) != value else {}
        if key in FOLLOWING and before.data_of(key) != (data := after.data_of(key)):
            changed |= {"data": data, "value": now}
        if changed:
            set_props(dict(identifier), changed)


def _refusal(error: Failure) -> Any:
    if not isinstance(error, ApiError):
        return failure_alert(error, "yellow", mt="sm")
    body = error.body
    return problem_items(
        body.problems or [FieldProblem(field=body.field or "study", value=body.value, remedy=body.remedy)]
    )
