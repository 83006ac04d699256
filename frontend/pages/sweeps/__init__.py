"""Sweeps: the list of them, and one with its progress, results and what can be done to all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.sweeps import SweepActionAnswer, SweepActionRequest, SweepDetail, SweepSummary
from bapo.client import ApiError
from bapo.figures.theme import palette_of
from bapo.run.control import StopMoment
from frontend.components.confirm import Question, confirm_dialog, question, when_agreed
from frontend.components.icon import icon
from frontend.components.markdown import markdown
from frontend.components.moment import moment
from frontend.components.notices import error_text, link_button, notice, toast
from frontend.components.status_badge import status_badge
from frontend.components.stop_choices import stop_choices
from frontend.pages.sweeps.results import outcome_figure, results, run_table
from frontend.session import Api

REFRESH_MILLISECONDS = 3000
MOST_COMPARED = 50
VERBS: tuple[tuple[str, str, Any, str], ...] = (
    ("start", "Start all", "play", "blue"),
    ("resume", "Resume all", "play", "blue"),
    ("release", "Release all", "play", "blue"),
    ("hold", "Hold all", "pause", "gray"),
    ("pause", "Pause all", "pause", "gray"),
    ("stop", "Stop all", "stop", "red"),
)
"""Action, label, icon and colour."""


async def list_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """All sweeps, newest first."""
    page = await api.client().sweeps(limit=200)
    now = datetime.now(UTC)
    if not page.items:
        content: Any = notice(
            "No sweep yet",
            "A sweep is several runs that differ in chosen fields: turn on “Several runs” in the form of a new run.",
            icon_name="sweep",
            action=link_button("New run", "/new", leftSection=icon("plus", 16)),
        )
    else:
        head = ("Sweep", "Varies", "Runs", "Steps", "Owner", "Made")
        content = html.Div(
            dmc.TableScrollContainer(
                dmc.Table(
                    [
                        dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])),
                        dmc.TableTbody([_row(sweep, now) for sweep in page.items]),
                    ],
                    highlightOnHover=True,
                    className="sweep-table",
                ),
                minWidth=720,
            ),
            className="panel-card",
        )
    return html.Div([dmc.Title("Sweeps", order=2, mb="md"), content])


def _row(sweep: SweepSummary, now: datetime) -> dmc.TableTr:
    share = 100 * sweep.steps_done / sweep.steps_planned if sweep.steps_planned else 0.0
    states = ", ".join(f"{number} {status.value}" for status, number in sweep.statuses.items())
    return dmc.TableTr(
        [
            dmc.TableTd(dcc.Link(sweep.name, href=f"/sweeps/{sweep.id}", className="sweep-run", title=sweep.name)),
            dmc.TableTd(html.Code(", ".join(sweep.fields), className="sweep-run", title=", ".join(sweep.fields))),
            dmc.TableTd(f"{sweep.num_runs:,}: {states}"),
            dmc.TableTd(f"{share:.0f} %", className="number"),
            dmc.TableTd(sweep.owner),
            dmc.TableTd(moment(sweep.created_at, now=now)),
        ]
    )


async def layout(api: Api, path: Mapping[str, str], _: Mapping[str, str]) -> Any:
    """One sweep."""
    sweep = await api.client().sweep(path["sweep_id"])
    buttons = [
        dmc.Button(
            label,
            id={"type": "sweep-action", "verb": verb},
            leftSection=icon(icon_name, 16),
            color=colour,
            variant="light" if verb == "stop" else "default",
            size="xs",
            style={} if verb in sweep.actions else {"display": "none"},
        )
        for verb, label, icon_name, colour in VERBS
    ]
    compared = ",".join(run.id for run in sweep.runs[:MOST_COMPARED])
    compare = link_button(
        "Compare" if len(sweep.runs) <= MOST_COMPARED else f"Compare the first {MOST_COMPARED}",
        f"/compare?runs={compared}",
        leftSection=icon("compare", 16),
        variant="default",
        color="gray",
        size="xs",
    )
    from_run = (
        [" from ", dcc.Link("a run", href=f"/runs/{sweep.parent_id}")] if sweep.parent_id else [f" from {sweep.recipe}"]
    )
    return html.Div(
        [
            dcc.Store(id="sweep-id", data=sweep.id),
            dcc.Store(id="sweep-reload", data=0),
            dcc.Interval(id="sweep-refresh", interval=REFRESH_MILLISECONDS),
            html.Div(
                [
                    html.Div(
                        [
                            dcc.Link("Sweeps", href="/sweeps", className="crumb"),
                            html.H1(sweep.name, className="sweep-name", id="sweep-name"),
                            dmc.Text(
                                [
                                    f"{sweep.owner}, ",
                                    moment(sweep.created_at),
                                    ", varies ",
                                    html.Code(", ".join(sweep.fields)),
                                    *from_run,
                                ],
                                size="sm",
                                c="dimmed",
                                className="wrap-anywhere",
                            ),
                        ]
                    ),
                    html.Div([*buttons, compare], className="sweep-actions"),
                ],
                className="sweep-head",
            ),
            *([html.Div(markdown(sweep.notes), className="panel-card")] if sweep.notes else []),
            html.Div(head(sweep), id="sweep-head"),
            html.Div(
                [
                    html.H3("Which settings do best?", className="chart-title"),
                    dcc.Graph(
                        id="sweep-outcomes",
                        figure=outcome_figure(sweep, palette_of(None)),
                        config={"displayModeBar": False, "responsive": True},
                        style={"height": 360},
                    ),
                ],
                className="panel-card",
                id="sweep-outcomes-card",
            ),
            html.Div(results(sweep), id="sweep-results"),
            html.Div(run_table(sweep), id="sweep-runs"),
            confirm_dialog("sweep-stop", keep="Keep them", choices=stop_choices("sweep-stop-when")),
        ],
        className="panel-stack",
    )


def head(sweep: SweepDetail) -> list[Any]:
    """How many runs are in which state, and how far all are together."""
    share = 100 * sweep.steps_done / sweep.steps_planned if sweep.steps_planned else 0.0
    badges: list[Any] = []
    for status, number in sweep.statuses.items():
        badges += [status_badge(status), html.Span(f"{number:,}", className="fact")]
    steps = f"{sweep.steps_done:,} of {sweep.steps_planned:,} steps of {sweep.num_runs:,} runs"
    return [
        html.Div([*badges, html.Span(steps, className="fact")], className="sweep-states"),
        dmc.Progress(value=share, size="md", **{"aria-label": "Steps done"}),
    ]


def register(app: Dash, api: Api) -> None:
    """Refreshing, and doing one thing to all runs."""

    @app.callback(
        Output("sweep-head", "children"),
        Output("sweep-results", "children"),
        Output("sweep-runs", "children"),
        Output("sweep-outcomes", "figure"),
        Output({"type": "sweep-action", "verb": ALL}, "style"),
        Input("sweep-refresh", "n_intervals"),
        Input("sweep-reload", "data"),
        Input("scheme", "data"),
        State("sweep-id", "data"),
    )
    async def refresh(_: int | None, __: int, scheme: str | None, sweep_id: str) -> Any:
        verbs = [output["id"]["verb"] for output in ctx.outputs_list[4]]
        try:
            sweep = await api.client().sweep(sweep_id)
        except (ApiError, httpx.TransportError) as error:
            alert = dmc.Alert(error_text(error), color="yellow", variant="light")
            return alert, no_update, no_update, no_update, [no_update] * len(verbs)
        styles: list[dict[str, Any]] = [{} if verb in sweep.actions else {"display": "none"} for verb in verbs]
        return head(sweep), results(sweep), run_table(sweep), outcome_figure(sweep, palette_of(scheme)), styles

    @app.callback(
        Output(question("sweep-stop"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("sweep-reload", "data", allow_duplicate=True),
        Input({"type": "sweep-action", "verb": ALL}, "n_clicks"),
        State("sweep-id", "data"),
        State("sweep-name", "children"),
        State("sweep-reload", "data"),
        prevent_initial_call=True,
    )
    async def act(_: Any, sweep_id: str, name: str, reloads: int) -> Any:
        trigger: Any = ctx.triggered_id
        if not trigger or not ctx.triggered[0]["value"]:
            return no_update, no_update, no_update
        verb = trigger["verb"]
        if verb == "stop":
            text = "All its runs that wait or train are cancelled for good. To continue later, pause them instead."
            asked = Question(title="Stop all runs of this sweep?", subject=name, text=text, button="Stop the runs")
            return asked, no_update, no_update
        try:
            done = await api.client().change_sweep(sweep_id, SweepActionRequest(action=verb))
        except (ApiError, httpx.TransportError) as error:
            return no_update, toast(error_text(error), title=f"Could not {verb} the runs"), no_update
        return no_update, _told(verb, done), reloads + 1

    outputs = [
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("sweep-reload", "data", allow_duplicate=True),
    ]
    states = [State("sweep-stop-when", "value"), State("sweep-id", "data"), State("sweep-reload", "data")]

    @when_agreed(app, "sweep-stop", outputs, states)
    async def stop(_: None, when: StopMoment, sweep_id: str, reloads: int) -> Any:
        done = await api.client().change_sweep(sweep_id, SweepActionRequest(action="stop", when=when))
        return _told("stop", done), reloads + 1


def _told(verb: str, done: SweepActionAnswer) -> Any:
    if done.refused:
        reasons = "; ".join(sorted(set(done.refused.values())))
        return toast(f"{len(done.refused):,} runs refused: {reasons}", title=f"Asked {done.num_done:,} runs to {verb}")
    left = f" {done.num_left:,} others do not allow it now." if done.num_left else ""
    return toast(f"{done.num_done:,} runs.{left}", title=f"Asked to {verb}", colour="green")
