"""A new study from a file: pasted, uploaded or started from a shipped one, and checked while typing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update

from bapo.analysis.number_format import counted
from bapo.api.base import FieldProblem
from bapo.api.studies import StudyCreate, StudyPreview, StudyWrite
from bapo.client import ApiError
from bapo.figures import formatting
from frontend.components.actions import FAILURES, Failure, failure_alert, on_failure, show, when_pressed
from frontend.components.card import page_heading
from frontend.components.choices import choices, project_select
from frontend.components.icon import icon
from frontend.components.notices import nothing_to_write
from frontend.projects import writable_projects
from frontend.session import Api

DEBOUNCE_MILLISECONDS = 500
MOST_BYTES = 400_000
ABOUT = (
    "The file declares what is compared, with which seeds, on which test sets, and which comparison decides. It cannot "
    "be changed once the first run exists. For a grid of runs without a report, turn on “Several runs” in the form of "
    "a new run."
)


async def new_layout(api: Api, _: Mapping[str, str], query: Mapping[str, str]) -> Any:
    """The form."""
    client = api.client()
    me = await client.me()
    found = await client.shipped_studies()
    projects = writable_projects(me)
    if not projects:
        return nothing_to_write("Studies are made by members of a project")
    text = next((each.text for each in found.items if each.name == query.get("from")), "")
    return html.Div(
        [
            dcc.Link("Studies", href="/studies", className="crumb"),
            page_heading("New study", ABOUT),
            dcc.Store(id="study-shipped", data={each.name: each.text for each in found.items}),
            html.Div(
                [
                    dmc.Stack(
                        [
                            dmc.Select(
                                id="study-start",
                                label="Start from a shipped study",
                                placeholder="Choose one, or paste your own below",
                                data=choices(
                                    (each.name, f"{each.title} ({counted(each.num_runs, 'run')})")
                                    for each in found.items
                                ),
                                value=query.get("from"),
                                clearable=True,
                            ),
                            # The label names the input of the file, which has no properties of its own.
                            html.Label(
                                dcc.Upload(
                                    html.Div("Drop a .toml file here, or choose one", className="study-drop"),
                                    id="study-upload",
                                    max_size=MOST_BYTES,
                                    accept=".toml",
                                )
                            ),
                            dmc.Textarea(
                                id="study-text",
                                label="Study file",
                                value=text,
                                autosize=True,
                                minRows=22,
                                maxRows=44,
                                debounce=DEBOUNCE_MILLISECONDS,
                                spellCheck=False,
                            ),
                        ],
                        gap="sm",
                    ),
                    html.Div(
                        [
                            html.Div(id="study-preview", role="status"),
                            project_select("study-project", projects, query.get("project"), mt="md"),
                            dmc.NumberInput(
                                id="study-priority",
                                label="Priority",
                                description="In the queue, 0 to 100; higher first.",
                                value=50,
                                min=0,
                                max=100,
                                allowDecimal=False,
                                mt="sm",
                            ),
                            html.Div(id="study-refusal"),
                            dmc.Button(
                                "Make the runs",
                                id="study-create",
                                leftSection=icon("play", 16),
                                disabled=True,
                                fullWidth=True,
                                mt="md",
                            ),
                        ],
                        className="panel-card",
                    ),
                ],
                className="study-form",
            ),
        ]
    )


def preview_panel(found: StudyPreview) -> list[Any]:
    """Returns the preview of a file, or its problems."""
    if found.problems:
        return [
            html.H2("This cannot be made yet", className="chart-title"),
            html.Ul([_problem(each) for each in found.problems], className="study-problems"),
        ]
    arms = ", ".join(arm.name for arm in found.arms)
    lines = [
        ("Question", found.question or ""),
        ("Arms", arms),
        ("Regimes", ", ".join(found.regimes)),
        ("Seeds", ", ".join(map(str, found.seeds))),
        ("Test sets", ", ".join(found.test_sets)),
        ("Decides", found.primary or ""),
        ("Runs", _runs(found)),
        ("Time", _time(found)),
    ]
    return [
        html.H2(found.title, className="chart-title wrap-anywhere"),
        html.Dl([part for label, text in lines for part in (html.Dt(label), html.Dd(text))], className="study-head"),
        html.Ul([_problem(each, is_warning=True) for each in found.warnings], className="study-problems"),
    ]


def _runs(found: StudyPreview) -> str:
    tuning = f", {found.num_tuning_runs:,} of them to choose settings" if found.num_tuning_runs else ""
    return f"{found.num_runs:,}{tuning}"


def _time(found: StudyPreview) -> str:
    if found.seconds is None:
        return "unknown: no run like these has ended here"
    low, high = formatting.duration(found.seconds.low), formatting.duration(found.seconds.high)
    return f"about {formatting.duration(found.seconds.value)} ({low} to {high}), one run after the other"


def _problem(problem: FieldProblem, *, is_warning: bool = False) -> html.Li:
    given: list[Any] = [] if problem.value is None else [" = ", html.Code(str(problem.value))]
    return html.Li(
        [html.Code(problem.field), *given, html.Div(problem.remedy)], className="warning" if is_warning else ""
    )


def register(app: Dash, api: Api) -> None:
    """Filling the file in, checking it, making it."""

    @app.callback(
        Output("study-text", "value"),
        Output("study-refusal", "children", allow_duplicate=True),
        Input("study-start", "value"),
        State("study-shipped", "data"),
        prevent_initial_call=True,
    )
    def start(name: str | None, shipped: Mapping[str, str]) -> Any:
        return shipped.get(name or "", no_update), ""

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
        Input("study-text", "value"),
        Input("study-project", "value"),
    )
    async def preview(text: str | None, project: str | None) -> Any:
        if not (text or "").strip():
            hint = "Choose a shipped study, or paste a file, to see what it would make."
            return html.P(hint, className="study-question"), True, "Make the runs"
        try:
            found = await api.client().preview_study(StudyWrite(text=text or "", project=project))
        except ValueError:
            return dmc.Alert("The file is too long.", color="red", variant="light"), True, "Make the runs"
        except FAILURES as error:
            return failure_alert(error, "yellow"), True, "Make the runs"
        label = "Make the runs" if found.problems else f"Make the {counted(found.num_runs, 'run')}"
        return preview_panel(found), bool(found.problems), label

    @when_pressed(
        app,
        "study-create",
        outputs=[Output("url", "pathname", allow_duplicate=True)],
        states=[State(f"study-{field}", "value") for field in ("text", "project", "priority")],
        on_error=on_failure(lambda error: show("study-refusal", _refusal(error))),
        busy="study-create",
    )
    async def create(_: str, text: str, project: str | None, priority: Any) -> Any:
        show("study-refusal", "")
        try:
            body = StudyCreate(text=text, project=project, priority=priority if priority not in ("", None) else 50)
        except ValueError as error:
            problem = FieldProblem(field="priority", value=priority, remedy=str(error))
            show("study-refusal", _problems([problem]))
            return no_update
        return f"/studies/{(await api.client().create_study(body)).id}"


def _refusal(error: Failure) -> Any:
    if not isinstance(error, ApiError):
        return failure_alert(error, "yellow", mt="sm")
    body = error.body
    return _problems(body.problems or [FieldProblem(field=body.field or "study", value=body.value, remedy=body.remedy)])


def _problems(problems: Sequence[FieldProblem]) -> html.Ul:
    return html.Ul([_problem(each) for each in problems], className="study-problems", style={"marginTop": 12})
