"""Start, stop, pause, resume, delete: one click each, but a word before what cannot be undone."""

from __future__ import annotations

from typing import Any

import httpx
from dash import ALL, Dash, Input, Output, State, ctx, html, no_update

from bapo.api.storage import DeletionItem, DeletionRequest
from bapo.client import ApiError, AsyncClient
from bapo.figures import formatting
from bapo.run.control import StopMoment
from frontend.components.confirm import DONE, Question, answer, busy, confirm_dialog, confirmed, failed, question
from frontend.components.notices import error_text, toast
from frontend.components.stop_choices import sooner_than, stop_choices
from frontend.session import Api

CONSEQUENCES: dict[str, tuple[str, str, str]] = {
    "stop": (
        "Stop this run?",
        "It is then cancelled for good: to go on, fork or clone it. To continue later, pause it instead. Where nothing "
        "trains, it is cancelled at once.",
        "Stop the run",
    ),
    "delete": (
        "Delete this run?",
        "It goes for good, for everybody, with its folder.",
        "Delete the run",
    ),
}
"""Title, consequence and button of the actions that ask first."""


def deletion_text(item: DeletionItem) -> str:
    """What goes, and what stays of what depends on it."""
    counts = (
        (item.num_steps, "step", "steps"),
        (item.num_samples, "group of responses", "groups of responses"),
        (item.num_checkpoints, "checkpoint", "checkpoints"),
        (item.num_artifacts, "download", "downloads"),
    )
    parts = [f"{number:,} {one if number == 1 else many}" for number, one, many in counts if number]
    what = f"{', '.join(parts)} and its folder go for good" if parts else "It goes for good"
    size = f", {formatting.size(item.num_bytes)} in all" if item.num_bytes else ""
    text = f"{what}, for everybody{size}."
    if item.children:
        number = len(item.children)
        text += f" {number:,} {'run that was' if number == 1 else 'runs that were'} cloned or forked from it stay."
    if item.waiting_forks:
        text += " Its folder stays until the forks that need its checkpoint have begun."
    return text


def dialogs() -> html.Div:
    """For the dangerous actions."""
    return html.Div([confirm_dialog("run-stop", choices=stop_choices("run-stop-when")), confirm_dialog("run-delete")])


async def perform(client: AsyncClient, run_id: str, verb: str) -> None:
    """Ask the server for it."""
    match verb:
        case "start":
            await client.start(run_id)
        case "resume":
            await client.resume(run_id)
        case "pause":
            await client.pause(run_id)
        case "pause-checkpoint":
            await client.pause(run_id, "checkpoint")
        case _:
            raise ValueError(f"no action {verb!r}")


def _question(verb: str, name: str) -> Question:
    title, text, button = CONSEQUENCES[verb]
    return Question(title=title, subject=name, text=text, button=button)


def register(app: Dash, api: Api) -> None:
    """Buttons and dialogs."""

    @app.callback(
        Output(question("run-stop"), "data"),
        Output("run-stop-when", "value"),
        Output(question("run-delete"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("run-reload", "data", allow_duplicate=True),
        Input({"type": "run-action", "verb": ALL}, "n_clicks"),
        State("run-id", "data"),
        State("run-name", "children"),
        State("run-reload", "data"),
        prevent_initial_call=True,
    )
    async def act(_: Any, run_id: str, name: str, reloads: int) -> Any:
        trigger: Any = ctx.triggered_id
        if not trigger or not ctx.triggered[0]["value"] or trigger["verb"] in ("change", "fork"):
            return (no_update,) * 5
        verb, client = trigger["verb"], api.client()
        try:
            if verb == "stop":
                when = sooner_than((await client.run(run_id)).stopping_when)
                return _question(verb, name), when, no_update, no_update, no_update
            if verb == "delete":
                preview = await client.preview_deletion(DeletionRequest(run_ids=[run_id]))
                asked = Question({**_question(verb, name), "text": deletion_text(preview.items[0])})
                return no_update, no_update, asked, no_update, no_update
            await perform(client, run_id, verb)
        except (ApiError, httpx.TransportError) as error:
            told = toast(error_text(error), title=f"Could not {verb.partition('-')[0]} the run")
            return no_update, no_update, no_update, told, no_update
        return no_update, no_update, no_update, no_update, reloads + 1

    @app.callback(
        Output(answer("run-stop"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("run-reload", "data", allow_duplicate=True),
        Input(confirmed("run-stop"), "n_clicks"),
        State("run-stop-when", "value"),
        State("run-id", "data"),
        State("run-reload", "data"),
        running=busy("run-stop"),
        prevent_initial_call=True,
    )
    async def stop(clicks: int | None, when: StopMoment, run_id: str, reloads: int) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        try:
            run = await api.client().stop(run_id, when)
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), no_update, no_update
        told: Any = no_update
        if run.steps_lost:
            text = f"{run.steps_lost:,} completed steps after the newest checkpoint are lost."
            told = toast(text, title="Stopping at once", colour="yellow")
        return DONE, told, reloads + 1

    @app.callback(
        Output(answer("run-delete"), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("url", "pathname", allow_duplicate=True),
        Input(confirmed("run-delete"), "n_clicks"),
        State("run-id", "data"),
        running=busy("run-delete"),
        prevent_initial_call=True,
    )
    async def delete(clicks: int | None, run_id: str) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        try:
            await api.client().delete_run(run_id)
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), no_update, no_update
        return DONE, toast("The run is deleted.", title="Deleted", colour="green"), "/runs"
