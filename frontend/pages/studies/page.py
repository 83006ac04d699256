"""One study: its progress, actions on all its runs, and its results: a report, or a table by setting."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from bapo.analysis.number_format import counted
from bapo.api.compare import ParameterImportance
from bapo.api.studies import ForkExperiment, StudyActionAnswer, StudyActionRequest, StudyContinuation, StudyDetail
from bapo.figures.fork_experiment import fork_experiment_figure
from bapo.figures.theme import Palette, palette_of, themed
from bapo.report.document import drawings
from bapo.report.study import sections_of_study
from bapo.run.control import StopMoment
from frontend.components.actions import clientside, go_to, in_place, in_toast, tell, when_pressed
from frontend.components.card import figure_card
from frontend.components.chart_card import table_button
from frontend.components.controls import download_button
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.elements import Graph, Interval, Link, Store, attributes, button_store, pressed_in
from frontend.components.icon import icon
from frontend.components.importance_cards import importance_cards, register_importance
from frontend.components.markdown import markdown
from frontend.components.notices import link_button
from frontend.components.page import Page
from frontend.components.runs import stop_choices
from frontend.components.text import moment
from frontend.delivery.reports import STUDY_PREFIX
from frontend.pages.studies.forked import CONTINUE, dataset_select, experiment_parts, origin_of
from frontend.pages.studies.results import progress, report_parts, result_tables, run_grid
from frontend.request.session import Api

REFRESH_MILLISECONDS = 4000
MOST_COMPARED = 50
ARMS = "Arms from the fork on"
FORK_HEIGHT = 960
VERBS: tuple[tuple[str, str, Any, str], ...] = (
    ("start", "Start all", "play", "blue"),
    ("resume", "Resume all", "play", "blue"),
    ("release", "Release all", "play", "blue"),
    ("retry", "Retry the failed", "play", "blue"),
    ("hold", "Hold all", "pause", "gray"),
    ("pause", "Pause all", "pause", "gray"),
    ("stop", "Stop all", "stop", "red"),
)
"""Action, label, icon and colour."""
DOWNLOADS = (("html", "HTML"), ("md", "Markdown"), ("json", "JSON"))
HIDDEN = {"display": "none"}
STOPPING = (
    "All its runs that wait or train are cancelled for good; a report lists them as not run. To continue later, pause "
    "them instead."
)


async def layout(api: Api, path: Mapping[str, str], _: Mapping[str, str]) -> Any:
    """Return one study."""
    client = api.client()
    study, columns = await asyncio.gather(client.study(path["study_id"]), client.run_columns())
    metrics = [each.name.removeprefix("metric.") for each in columns.items if each.name.startswith("metric.")]
    is_grid = study.question is None
    results = html.Div(id="study-results", className="panel-stack", hidden=not is_grid)
    figure, datasets = None, dataset_select(None)
    if study.checkpoints:
        found = await client.fork_experiment(study.id)
        results.children, figure = _experiment(study, found, palette_of(None))
        datasets = dataset_select(found)
    elif is_grid:
        results.children = result_tables(study)
    return html.Div(
        [
            Store(id="study-id", data=study.id),
            Store(id="study-reload", data=0),
            Store(id="study-seen"),
            Store(id="study-ended"),
            Store(id="study-figures"),
            Store(id="study-visit", data=uuid.uuid4().hex),
            button_store(CONTINUE),
            Interval(id="study-refresh", interval=REFRESH_MILLISECONDS),
            html.Div(id="study-sink", hidden=True),
            _header(study),
            *([html.Div(markdown(study.notes), className="panel-card")] if study.notes else []),
            html.Div(_progress(study), id="study-progress", className="panel-card"),
            results,
            figure_card(
                datasets,
                Graph("study-arms", figure, style={"height": FORK_HEIGHT}),
                table_button(ARMS),
                title=ARMS,
                style={} if study.checkpoints else HIDDEN,
            ),
            html.Div([] if is_grid else _skeletons(), id="study-report", hidden=is_grid),
            *importance_cards("study", metrics),
            *([] if is_grid else [_source(study)]),
            confirm_dialog("study-stop", keep="Keep them", choices=stop_choices("study-stop-when")),
        ],
        className="panel-stack",
    )


def _experiment(study: StudyDetail, found: ForkExperiment, palette: Palette) -> tuple[list[Any], Any]:
    """Return what a fork experiment shows above its chart, and the chart."""
    return experiment_parts(study, found, palette), themed(fork_experiment_figure(found, palette), palette)


def _header(study: StudyDetail) -> html.Div:
    made = [f"{study.owner}, ", moment(study.created_at)]
    if study.checkpoints:
        made += origin_of(study)
    elif study.question is None:
        base = Link("a run", href=f"/runs/{study.parent_id}") if study.parent_id else study.recipe
        made += [", varies ", html.Code(", ".join(study.fields)), *([" from ", base] if base else [])]
    return html.Div(
        [
            html.Div(
                [
                    Link("Studies", href="/studies", className="crumb"),
                    html.H1(study.title, className="study-name", id="study-name"),
                    dmc.Text(made, size="sm", c="dimmed", className="wrap-anywhere"),
                ]
            ),
            html.Div([*_buttons(study), *_links(study)], className="study-buttons"),
        ],
        className="study-header",
    )


def _buttons(study: StudyDetail) -> list[dmc.Button]:
    return [
        dmc.Button(
            label,
            id={"type": "study-action", "verb": verb},
            leftSection=icon(icon_name, 16),
            color=colour,
            variant="light" if verb == "stop" else "default",
            size="xs",
            className="for-members",
            style={} if verb in study.actions else HIDDEN,
        )
        for verb, label, icon_name, colour in VERBS
    ]


def _links(study: StudyDetail) -> list[Any]:
    """Return links to its runs in Compare and as the paper's figures; with a question, also its report as downloads."""
    run_ids = [run.run_id for run in study.runs if run.run_id is not None]
    first = f" the first {MOST_COMPARED}" if len(run_ids) > MOST_COMPARED else ""
    chosen = f"?runs={','.join(run_ids[:MOST_COMPARED])}"
    looks: dict[str, Any] = {"variant": "default", "color": "gray", "size": "xs"}
    downloads = [
        download_button(
            label, f"{STUDY_PREFIX}{study.id}.{kind}", **attributes(aria_label=f"Download the report as {label}")
        )
        for kind, label in DOWNLOADS
    ]
    return [
        link_button(f"Compare{first}", f"/compare{chosen}", leftSection=icon("compare", 16), **looks),
        link_button("Paper view", f"/paper{chosen}", leftSection=icon("notes", 16), **looks),
        *(downloads if study.question is not None else []),
    ]


def _progress(study: StudyDetail) -> list[Any]:
    return [*progress(study), *([] if study.question is None else run_grid(study))]


def _source(study: StudyDetail) -> html.Details:
    return html.Details(
        [html.Summary("Study file"), html.Pre(study.text, className="study-source")], className="panel-card"
    )


def _skeletons() -> list[Any]:
    return [html.Div(className="paper-skeleton", **attributes(aria_hidden="true")) for _ in range(2)]


PAGES = (Page("/studies/(?!new$)(?P<study_id>[^/]+)", layout, section="studies"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: refreshing, the report, and actions on all runs."""
    _refreshing(app, api)
    _acting(app, api)


def _refreshing(app: Dash, api: Api) -> None:
    @app.callback(
        Output("study-progress", "children"),
        Output("study-results", "children"),
        Output("study-arms", "figure"),
        Output("study-seen", "data"),
        Output("study-ended", "data"),
        Output({"type": "study-action", "verb": ALL}, "style"),
        Input("study-refresh", "n_intervals"),
        Input("study-reload", "data"),
        Input("scheme", "data"),
        Input("study-dataset", "value"),
        State("study-id", "data"),
        State("study-ended", "data"),
        on_error=in_place("study-progress"),
    )
    async def refresh(
        _: int | None, __: int, scheme: str | None, dataset: str | None, study_id: str, seen: list[str] | None
    ) -> Any:
        verbs = [output["id"]["verb"] for output in ctx.outputs_list[5]]
        study = await api.client().study(study_id)
        styles: list[dict[str, Any]] = [{} if verb in study.actions else HIDDEN for verb in verbs]
        # Reports and charts of results change when a run ends, or fails.
        ended = sorted(f"{run.name} {run.state}" for run in study.runs if run.state not in ("waiting", "training"))
        new = no_update if seen == ended else ended
        if study.checkpoints:
            found = await api.client().fork_experiment(study_id, dataset=dataset)
            parts, figure = _experiment(study, found, palette_of(scheme))
            return _progress(study), parts, figure, no_update, new, styles
        if study.question is None:
            return _progress(study), result_tables(study), no_update, no_update, new, styles
        return _progress(study), no_update, no_update, new, new, styles

    @app.callback(
        Output("study-report", "children"),
        Output("study-figures", "data"),
        Input("study-seen", "data"),
        Input("scheme", "data"),
        State("study-id", "data"),
        prevent_initial_call=True,
        on_error=in_place("study-report"),
    )
    async def draw(seen: list[str] | None, scheme: str | None, study_id: str) -> Any:
        if seen is None:
            raise PreventUpdate
        is_repaint = set(ctx.triggered_prop_ids.values()) == {"scheme"}
        report = await api.client().study_report(study_id)

        def build() -> tuple[Any, Any]:
            figures = drawings(sections_of_study(report), palette_of(scheme))
            return (no_update if is_repaint else report_parts(report)), figures

        return await asyncio.to_thread(build)

    async def importance(metric: str, study_id: str) -> ParameterImportance:
        return await api.client().study_importance(study_id, metric=metric)

    register_importance(app, "study", importance, Input("study-ended", "data"), State("study-id", "data"))
    clientside(app, "paper", "show", Output("study-sink", "children"), Input("study-figures", "data"), initial=False)


def _acting(app: Dash, api: Api) -> None:
    reload = Output("study-reload", "data", allow_duplicate=True)
    study, reloads = State("study-id", "data"), State("study-reload", "data")

    def refused(error: Exception) -> None:
        in_toast(f"Could not {ctx.triggered_id['verb']} the runs")(error)

    @when_pressed(
        app,
        {"type": "study-action", "verb": ALL},
        outputs=[Output(question("study-stop"), "data"), reload],
        states=[study, State("study-name", "children"), reloads],
        on_error=refused,
    )
    async def act(pressed: Mapping[str, Any], study_id: str, name: str, reloads: int) -> Any:
        verb = pressed["verb"]
        if verb == "stop":
            return Question(
                title="Stop all runs of this study?", subject=name, text=STOPPING, button="Stop the runs"
            ), no_update
        _tell(verb, await api.client().change_study(study_id, StudyActionRequest(action=verb)))
        return no_update, reloads + 1

    @when_pressed(
        app,
        pressed_in(CONTINUE),
        outputs=[reload],
        states=[study, reloads, State("study-visit", "data")],
        on_error=in_toast("Could not continue the arm"),
    )
    async def continue_arm(pressed: Mapping[str, Any], study_id: str, reloads: int, visit: str) -> Any:
        # Two presses ask for the same; where an arm continues already, it has no button.
        key = f"{visit} {pressed['arm']}"
        made = await api.client().continue_arm(study_id, StudyContinuation(arm=pressed["arm"]), idempotency_key=key)
        first = made.runs[0]
        if len(made.runs) == 1:
            go_to(f"/runs/{first.id}")
            return no_update
        tell(f"{counted(len(made.runs), 'run')} up to step {first.num_steps:,}.", f"{pressed['label']} continues")
        return reloads + 1

    @when_agreed(app, "study-stop", [reload], [State("study-stop-when", "value"), study, reloads])
    async def stop(_: None, when: StopMoment, study_id: str, reloads: int) -> Any:
        _tell("stop", await api.client().change_study(study_id, StudyActionRequest(action="stop", when=when)))
        return [reloads + 1]


def _tell(verb: str, done: StudyActionAnswer) -> None:
    if done.refused:
        reasons = "; ".join(sorted(set(done.refused.values())))
        tell(
            f"{counted(len(done.refused), 'run')} refused: {reasons}",
            f"Asked {counted(done.num_done, 'run')} to {verb}",
            "red",
        )
        return
    left = f" {done.num_left:,} others do not allow it now." if done.num_left else ""
    tell(f"{counted(done.num_done, 'run')}.{left}", f"Asked to {verb}")
