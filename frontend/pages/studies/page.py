"""One study: progress arm by seed, what can be done to all its runs, and its report, live as runs end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.studies import (
    StudyActionAnswer,
    StudyActionRequest,
    StudyDetail,
    StudyReport,
    StudyRunInfo,
    StudyRunState,
)
from bapo.client import ApiError
from bapo.figures.theme import palette_of
from bapo.report.document import drawings
from bapo.report.study import facts_of, head_of, sections_of_study
from bapo.run.control import StopMoment
from frontend.clientside import clientside
from frontend.components.attributes import attributes
from frontend.components.chart_card import BLANK_FIGURE
from frontend.components.confirm import DONE, Question, answer, busy, confirm_dialog, confirmed, failed, question
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import error_text, toast
from frontend.components.report_sections import section_part
from frontend.components.stop_choices import stop_choices
from frontend.reports.study import STUDY_PREFIX
from frontend.session import Api

REFRESH_MILLISECONDS = 4000
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
STATES: tuple[StudyRunState, ...] = ("done", "training", "waiting", "stopped", "failed", "missing")
DOWNLOADS = (("html", "HTML"), ("md", "Markdown"), ("json", "JSON"))


async def layout(api: Api, path: Mapping[str, str], _: Mapping[str, str]) -> Any:
    """One study."""
    study = await api.client().study(path["study_id"])
    buttons = [
        dmc.Button(
            label,
            id={"type": "study-action", "verb": verb},
            leftSection=icon(icon_name, 16),
            color=colour,
            variant="light" if verb == "stop" else "default",
            size="xs",
            style={} if verb in study.actions else {"display": "none"},
        )
        for verb, label, icon_name, colour in VERBS
    ]
    downloads = [
        html.A(
            dmc.Button(label, size="xs", variant="default", leftSection=icon("download", 16)),
            href=f"{STUDY_PREFIX}{study.id}.{kind}",
            download="",
            className="plain-link",
            **attributes(aria_label=f"Download the report as {label}"),
        )
        for kind, label in DOWNLOADS
    ]
    return html.Div(
        [
            dcc.Store(id="study-id", data=study.id),
            dcc.Store(id="study-reload", data=0),
            dcc.Store(id="study-seen"),
            dcc.Store(id="study-figures"),
            dcc.Interval(id="study-refresh", interval=REFRESH_MILLISECONDS),
            html.Div(id="study-sink", hidden=True),
            # plotly.js comes with it.
            dcc.Graph(figure=BLANK_FIGURE, style={"display": "none"}),
            html.Div(
                [
                    html.Div(
                        [
                            dcc.Link("Studies", href="/studies", className="crumb"),
                            html.H1(study.title, className="sweep-name", id="study-name"),
                            dmc.Text([f"{study.owner}, ", moment(study.created_at)], size="sm", c="dimmed"),
                        ]
                    ),
                    html.Div([*buttons, *downloads], className="sweep-actions"),
                ],
                className="sweep-head",
            ),
            html.Div(progress(study), id="study-progress", className="panel-card"),
            html.Div(_skeletons(), id="study-report"),
            html.Details(
                [html.Summary("The study file"), html.Pre(study.text, className="study-source")], className="panel-card"
            ),
            confirm_dialog("study-stop", keep="Keep them", choices=stop_choices("study-stop-when")),
        ],
        className="panel-stack",
    )


def _skeletons() -> list[Any]:
    return [html.Div(className="paper-skeleton", **attributes(aria_hidden="true")) for _ in range(2)]


# ---------------------------------------------------------------- progress


def progress(study: StudyDetail) -> list[Any]:
    """How far the runs are, arm by seed."""
    share = 100 * study.steps_done / study.steps_planned if study.steps_planned else 0.0
    states = ", ".join(f"{study.states[state]:,} {state}" for state in STATES if state in study.states)
    parts: list[Any] = [
        html.Div(
            [html.Span(states, className="fact"), html.Span(f"{share:.0f}\u202f% of all steps", className="fact")],
            className="sweep-states",
        ),
        dmc.Progress(value=share, size="md", mb="md", **{"aria-label": "Steps done"}),
    ]
    tuning = [run for run in study.runs if run.stage == "tuning"]
    if tuning:
        done = sum(run.state == "done" for run in tuning)
        end = "." if done == len(tuning) else "; the others wait for them."
        parts.append(html.P(f"{done} of {len(tuning)} runs that choose settings are done{end}", className="chart-note"))
    for regime in study.regimes:
        if len(study.regimes) > 1:
            parts.append(html.H3(regime, className="chart-title"))
        parts.append(_grid(study, [run for run in study.runs if run.stage == "final" and run.regime == regime]))
    key = [html.Span([html.Span(className=f"study-cell {state}"), state]) for state in STATES if state in study.states]
    return [*parts, html.Div(key, className="study-key")]


def _grid(study: StudyDetail, runs: Sequence[StudyRunInfo]) -> html.Div:
    by_place = {(run.arm, run.seed): run for run in runs}
    head = html.Tr([html.Th("arm"), *(html.Th(f"seed {seed}", className="seed", scope="col") for seed in study.seeds)])
    rows = [
        html.Tr(
            [
                html.Th(arm.name, className="arm", scope="row", title=arm.name),
                *(html.Td(_cell(by_place[arm.name, seed])) for seed in study.seeds),
            ]
        )
        for arm in study.arms
    ]
    return html.Div(
        html.Table([html.Thead(head), html.Tbody(rows)]),
        className="study-grid",
        tabIndex=0,
        role="region",
        **attributes(aria_label="Runs by arm and seed"),
    )


def _cell(run: StudyRunInfo) -> Any:
    text = {"done": "done", "failed": "failed", "missing": "gone"}.get(run.state)
    if text is None:
        text = f"{run.step / run.num_steps:.0%}" if run.num_steps and run.step else "·" if run.run_id else ""
    title = f"{run.arm}, seed {run.seed}: {run.state}" + (f" ({run.reason})" if run.reason else "")
    if run.run_id is None:
        return html.Span(text, className=f"study-cell {run.state}", title=title)
    return dcc.Link(text, href=f"/runs/{run.run_id}", className=f"study-cell {run.state}", title=title)


# ---------------------------------------------------------------- the report


def report_parts(report: StudyReport) -> list[Any]:
    """Everything below the progress; the figures are drawn into it by assets/paper.js."""
    items = [
        part
        for label, text in head_of(report)
        for part in (html.Dt(label), html.Dd(text, className="result" if label == "Result" else ""))
    ]
    return [
        html.Div(
            [html.Dl(items, className="study-head"), html.P(facts_of(report), className="chart-note wrap-anywhere")],
            className="panel-card",
            style={"marginBottom": 16},
        ),
        *(section_part(section) for section in sections_of_study(report)),
    ]


def register(app: Dash, api: Api) -> None:
    """Refreshing, the report, and doing one thing to all runs."""
    _refreshing(app, api)
    _acting(app, api)


def _refreshing(app: Dash, api: Api) -> None:
    @app.callback(
        Output("study-progress", "children"),
        Output({"type": "study-action", "verb": ALL}, "style"),
        Output("study-seen", "data"),
        Input("study-refresh", "n_intervals"),
        Input("study-reload", "data"),
        State("study-id", "data"),
        State("study-seen", "data"),
    )
    async def refresh(_: int | None, __: int, study_id: str, seen: list[str] | None) -> Any:
        verbs = [output["id"]["verb"] for output in ctx.outputs_list[1]]
        try:
            study = await api.client().study(study_id)
        except (ApiError, httpx.TransportError) as error:
            alert = dmc.Alert(error_text(error), color="yellow", variant="light")
            return alert, [no_update] * len(verbs), no_update
        styles: list[dict[str, Any]] = [{} if verb in study.actions else {"display": "none"} for verb in verbs]
        # The report changes when a run ends, or fails.
        ended = sorted(f"{run.name} {run.state}" for run in study.runs if run.state not in ("waiting", "training"))
        return progress(study), styles, no_update if seen == ended else ended

    @app.callback(
        Output("study-report", "children"),
        Output("study-figures", "data"),
        Input("study-seen", "data"),
        Input("scheme", "data"),
        State("study-id", "data"),
        prevent_initial_call=True,
    )
    async def show(seen: list[str] | None, scheme: str | None, study_id: str) -> Any:
        if seen is None:
            return no_update, no_update
        is_repaint = ctx.triggered_id == "scheme"
        try:
            report = await api.client().study_report(study_id)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="yellow", variant="light"), no_update

        def build() -> tuple[Any, Any]:
            figures = drawings(sections_of_study(report), palette_of(scheme))
            return (no_update if is_repaint else report_parts(report)), figures

        return await asyncio.to_thread(build)

    clientside(app, "paper", "show", Output("study-sink", "children"), Input("study-figures", "data"), initial=False)


def _acting(app: Dash, api: Api) -> None:
    @app.callback(
        Output(question("study-stop"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("study-reload", "data", allow_duplicate=True),
        Input({"type": "study-action", "verb": ALL}, "n_clicks"),
        State("study-id", "data"),
        State("study-name", "children"),
        State("study-reload", "data"),
        prevent_initial_call=True,
    )
    async def act(_: Any, study_id: str, name: str, reloads: int) -> Any:
        trigger: Any = ctx.triggered_id
        if not trigger or not ctx.triggered[0]["value"]:
            return no_update, no_update, no_update
        verb = trigger["verb"]
        if verb == "stop":
            text = (
                "All its runs that wait or train are cancelled for good, and the report names them as not run. To "
                "continue later, pause them instead."
            )
            asked = Question(title="Stop all runs of this study?", subject=name, text=text, button="Stop the runs")
            return asked, no_update, no_update
        try:
            done = await api.client().change_study(study_id, StudyActionRequest(action=verb))
        except (ApiError, httpx.TransportError) as error:
            return no_update, toast(error_text(error), title=f"Could not {verb} the runs"), no_update
        return no_update, _told(verb, done), reloads + 1

    @app.callback(
        Output(answer("study-stop"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("study-reload", "data", allow_duplicate=True),
        Input(confirmed("study-stop"), "n_clicks"),
        State("study-stop-when", "value"),
        State("study-id", "data"),
        State("study-reload", "data"),
        running=busy("study-stop"),
        prevent_initial_call=True,
    )
    async def stop(clicks: int | None, when: StopMoment, study_id: str, reloads: int) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        try:
            done = await api.client().change_study(study_id, StudyActionRequest(action="stop", when=when))
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), no_update, no_update
        return DONE, _told("stop", done), reloads + 1


def _told(verb: str, done: StudyActionAnswer) -> Any:
    if done.refused:
        reasons = "; ".join(sorted(set(done.refused.values())))
        return toast(f"{len(done.refused):,} runs refused: {reasons}", title=f"Asked {done.num_done:,} runs to {verb}")
    left = f" {done.num_left:,} others do not allow it now." if done.num_left else ""
    return toast(f"{done.num_done:,} runs.{left}", title=f"Asked to {verb}", colour="green")
