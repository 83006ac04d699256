"""The heading of a run page: name, state, progress, actions, and the open alerts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html

from bapo.analysis.steered import course_text, courses
from bapo.api.runs import RunDetail, RunStatus
from bapo.client import AsyncClient
from bapo.config.method import is_trainable, method_label
from bapo.config.resolve import flatten
from bapo.figures import formatting
from bapo.run.control import StopMoment
from frontend.components.actions import in_toast, show, unchanged, when_pressed
from frontend.components.alert_cards import acknowledging, alert_cards
from frontend.components.elements import Link, pressed_in
from frontend.components.icon import IconName, icon
from frontend.components.notices import link_button
from frontend.components.runs import MOVING, compute_text, status_badge
from frontend.components.symbols import short_name
from frontend.components.text import moment
from frontend.pages.run.identity import archive_button, edit_button, star_button
from frontend.request.session import Api

MOST_ALERTS = 3


class Action(NamedTuple):
    """A button of the header."""

    verb: str
    label: str
    icon_name: IconName
    colour: str
    variant: str


ACTIONS: tuple[Action, ...] = (
    Action("start", "Start", "play", "blue", "filled"),
    Action("resume", "Resume", "play", "blue", "filled"),
    Action("change", "Change parameters", "sliders", "gray", "default"),
    Action("pause", "Pause", "pause", "gray", "default"),
    Action("pause-checkpoint", "Pause at checkpoint", "pause", "gray", "default"),
    Action("stop", "Stop", "stop", "red", "light"),
    Action("delete", "Delete", "trash", "red", "light"),
)


def title_row(run: RunDetail) -> html.Div:
    """Return name and buttons, without those that the run's state does not allow."""
    buttons = [
        dmc.Button(
            action.label,
            id={"type": "run-action", "verb": action.verb},
            leftSection=icon(action.icon_name, 16),
            color=action.colour,
            variant=action.variant,
            size="xs",
            style=action_style(run, action.verb),
        )
        for action in ACTIONS
    ]
    look = {"variant": "default", "color": "gray", "size": "xs"}
    clone = link_button("Clone", f"/new?parent={run.id}", leftSection=icon("copy", 16), **look)
    fork = link_button(
        "Fork",
        f"/new?fork={run.id}",
        id={"type": "run-action", "verb": "fork"},
        leftSection=icon("fork", 16),
        style=action_style(run, "fork"),
        **look,
    )
    # The config of another trainer is none that ours could train.
    anew = [fork, clone] if is_trainable(run.method) else []
    return html.Div(
        [
            html.Div(
                [
                    Link("Runs", href="/runs", className="crumb"),
                    html.Div(
                        [star_button(run.is_starred), html.H1(run.name, id="run-name", className="run-name")],
                        className="run-name-row",
                    ),
                ],
                className="run-title",
            ),
            html.Div(
                [
                    *buttons[:-1],
                    *anew,
                    edit_button(run),
                    archive_button(run),
                    buttons[-1],
                ],
                className="run-actions",
            ),
        ],
        className="run-title-row",
    )


def action_style(run: RunDetail, verb: str) -> dict[str, Any]:
    """Return a style that hides a button unless its action is allowed."""
    if verb == "pause-checkpoint":
        # Once it pauses, only sooner would mean anything.
        return {} if "pause" in run.allowed_actions and run.stopping_when is None else {"display": "none"}
    if verb == "pause" and run.stopping_when not in (None, "checkpoint"):
        return {"display": "none"}
    return {} if verb in run.allowed_actions else {"display": "none"}


def status_row(run: RunDetail) -> list[Any]:
    """Return state and facts."""
    facts: list[Any] = [
        status_badge(run.status),
        dmc.Badge(method_label(run.config["method"]), color="gray", variant="outline"),
        *([dmc.Badge("imported", color="gray", variant="outline")] if run.origin == "imported" else []),
        *([dmc.Badge(f"attempt {run.attempt}", color="gray", variant="outline")] if run.attempt > 1 else []),
        _fact("owner", run.owner),
        _fact("started", moment(run.started_at)) if run.started_at else _fact("created", moment(run.created_at)),
        *([_fact("worker", run.worker)] if run.worker else []),
        *([_fact("compute", _compute(run))] if run.attempt else []),
        *([_fact("size", formatting.size(run.storage_bytes))] if run.storage_bytes else []),
        *_origin(run),
        *_group(run),
        *(
            _fact("changed", f"{short_name(field)} {course_text(course)}")
            for field, course in courses(flatten(run.config), run.applied_changes).items()
        ),
        *(
            [Link("part of a study", href=f"/studies/{run.study_id}", className="fact fact-link")]
            if run.study_id
            else []
        ),
    ]
    return facts


def _group(run: RunDetail) -> list[Any]:
    """Return the group that the run belongs to, with a link to its runs and one to their comparison."""
    if run.group is None:
        return []
    compare = Link("compare", href=f"/compare?run_group={quote(run.group, safe='')}", className="fact-link")
    # The list reads several groups, separated by commas, from its address.
    filtered = f"/runs?group={quote(quote(run.group, safe=''))}"
    return [_fact("group", html.Span([_named_link(run.group, filtered), " ", compare]))]


def _named_link(name: str, href: str) -> Link:
    return Link(name, href=href, className="fact-link parent-link", title=name)


def _origin(run: RunDetail) -> list[Any]:
    """Return the run that this one was cloned or forked from."""
    step = "" if run.fork_step is None else f" at step {run.fork_step:,}"
    label = "cloned from" if run.fork_step is None else "forked from"
    if run.parent_id is None:
        return [_fact(label, f"a deleted run{step}")] if step else []
    name = run.parent_name or "its parent"
    return [_fact(label, html.Span([_named_link(name, f"/runs/{run.parent_id}"), step]))]


def _compute(run: RunDetail) -> str:
    price = "" if run.cost is None else f", {formatting.money(run.cost, run.currency)}"
    return compute_text(run) + price


def _fact(label: str, value: Any) -> html.Span:
    return html.Span([html.Span(label, className="fact-label"), " ", value], className="fact")


class Progress(NamedTuple):
    """The progress of a run as texts; the browser draws it (assets/live_head.js)."""

    status: str
    step: str
    num_steps: str
    """Number of steps; empty if unknown, and then there is no share either."""
    percent: float
    time: str


def progress(run: RunDetail, now: datetime | None = None) -> Progress:
    """Return step, share, and the time that is left or was taken."""
    current = now or datetime.now(UTC)
    if run.status in _PASSING:
        time = _PASSING[run.status].format(when=_MOMENTS[run.stopping_when])
    elif run.started_at is None:
        time = ""
    elif run.finished_at is not None:
        time = f"took {formatting.duration((run.finished_at - run.started_at).total_seconds())}"
    elif run.status in MOVING and run.eta_seconds is not None:
        time = f"about {formatting.duration(run.eta_seconds)} left"
    else:
        time = f"{formatting.duration((current - run.started_at).total_seconds())} since the start"
    percent = 100 * run.step / run.num_steps if run.num_steps else 0.0
    return Progress(run.status.value, f"{run.step:,}", f"{run.num_steps:,}" if run.num_steps else "", percent, time)


_REASONS: dict[RunStatus, tuple[str, str]] = {
    RunStatus.FAILED: ("red", "This run failed"),
    RunStatus.LOST: ("orange", "The worker was lost"),
    RunStatus.QUEUED: ("indigo", "Waiting for a worker"),
    RunStatus.DRAFT: ("gray", "Draft: not started yet"),
}

_PASSING: dict[RunStatus, str] = {
    RunStatus.PAUSED: "paused: its slot is free, and it resumes from the last checkpoint",
    RunStatus.PAUSING: "pausing {when}",
    RunStatus.STOPPING: "stopping {when}",
}
"""Requested states, shown in the line of the progress so that nothing below it moves."""

_MOMENTS: dict[StopMoment | None, str] = {
    "now": "now: its trainer is killed unless it ends within seconds",
    "step": "at the next step boundary, after a checkpoint",
    "checkpoint": "after the next regular checkpoint",
    # Answered, but not ended yet.
    None: "at this moment",
}


def reason(run: RunDetail) -> list[Any]:
    """Return why the run is not training, if it is not."""
    if run.status not in _REASONS:
        return []
    colour, title = _REASONS[run.status]
    text = run.status_reason or ("See the tab Log for what happened." if run.status is RunStatus.FAILED else None)
    return [
        dmc.Alert(
            dmc.Text(text, size="sm", className="wrap-anywhere") if text else None,
            title=title,
            color=colour,
            variant="light",
            p="xs",
            mt="sm",
        )
    ]


async def open_alerts(client: AsyncClient, run_id: str) -> list[Any]:
    """Return the newest open alerts that are not acknowledged."""
    page = await client.alerts(run_id=run_id, state="unseen", limit=MOST_ALERTS)
    more = Link("All alerts of this run", href=f"/alerts?run={run_id}&state=all", className="fact-link")
    return [*alert_cards(page.items, page="run"), more] if page.items else []


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: the state of the run, following its alerts, and acknowledging them."""

    @app.callback(
        Output("run-status", "children"),
        Output("run-reason", "children"),
        Output({"type": "run-action", "verb": ALL}, "style"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def show_status(_: int, run_id: str) -> Any:
        verbs = [output["id"]["verb"] for output in ctx.outputs_list[2]]
        run = await api.client().run(run_id)
        return status_row(run), reason(run), [action_style(run, verb) for verb in verbs]

    @app.callback(
        Output("run-alerts", "children"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
        on_error=unchanged,
    )
    async def follow(_: int, run_id: str) -> Any:
        return await open_alerts(api.client(), run_id)

    @when_pressed(
        app,
        pressed_in(acknowledging("run")),
        states=[State("run-id", "data")],
        on_error=in_toast("Not acknowledged"),
    )
    async def acknowledge(press: Mapping[str, Any], run_id: str) -> None:
        client = api.client()
        await client.acknowledge_alerts([press["id"]])
        show("run-alerts", await open_alerts(client, run_id))
