"""Start, stop, pause, resume and delete: one click each, with a question before what cannot be undone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import ALL, Dash, Output, State, ctx, html, no_update, set_props
from dash.exceptions import PreventUpdate

from bapo.analysis.number_format import counted
from bapo.api.runs import RunDetail
from bapo.api.storage import DeletionItem, DeletionRequest
from bapo.client import AsyncClient
from bapo.figures import formatting
from bapo.run.control import StopMoment
from frontend.components.actions import go_to, in_toast, tell, when_pressed
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.runs import sooner_than, stop_choices
from frontend.request.session import Api

CONSEQUENCES: dict[str, tuple[str, str, str]] = {
    "stop": (
        "Stop this run?",
        "It is cancelled for good; to continue from it, fork or clone it. To continue it later, pause it instead. A "
        "run that is not training is cancelled immediately.",
        "Stop the run",
    ),
    "delete": (
        "Delete this run?",
        "",
        "Delete the run",
    ),
}
"""Title, consequence and button of the actions that ask first."""


def deletion_text(item: DeletionItem, trash_days: float) -> str:
    """Return the text on what is deleted and when, and on what dependent objects keep."""
    counts = (
        (item.num_steps, "step", ""),
        (item.num_samples, "group of responses", "groups of responses"),
        (item.num_checkpoints, "checkpoint", ""),
        (item.num_artifacts, "download", ""),
    )
    parts = [counted(*each) for each in counts if each[0]]
    with_all = f", with {', '.join(parts)} and its folder" if parts else ""
    size = f" ({formatting.size(item.num_bytes)} in total)" if item.num_bytes else ""
    if trash_days:
        until = f"It can be restored from there for {trash_days:g} days, and is then deleted for good"
        text = f"It is in the trash then, for everybody. {until}{with_all}{size}."
    else:
        text = f"It is deleted for good, for everybody{with_all}{size}."
    if item.children:
        number = len(item.children)
        verb = "run cloned or forked from it stays" if number == 1 else "runs cloned or forked from it stay"
        text += f" {number:,} {verb}."
    if item.waiting_forks:
        text += " Its folder stays until the forks that need its checkpoint have started."
    return text


def stop_time_text(run: RunDetail) -> str:
    """Return how long a stop at the next step boundary takes, of a run whose steps are measured."""
    if run.stop_seconds is None:
        return ""
    duration = formatting.duration(run.stop_seconds)
    return f" At its next step boundary it stops within about {duration}: as long as its longest step and checkpoint."


def dialogs() -> html.Div:
    """Return the dialogs of the dangerous actions."""
    return html.Div([confirm_dialog("run-stop", choices=stop_choices("run-stop-when")), confirm_dialog("run-delete")])


async def perform(client: AsyncClient, run_id: str, verb: str) -> None:
    """Ask the server for an action that needs no question."""
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
    """Register the callbacks of the buttons and dialogs."""
    reload = Output("run-reload", "data", allow_duplicate=True)
    run_id, reloads = State("run-id", "data"), State("run-reload", "data")

    def refused(error: Exception) -> None:
        in_toast(f"Could not {ctx.triggered_id['verb'].partition('-')[0]} the run")(error)

    @when_pressed(
        app,
        {"type": "run-action", "verb": ALL},
        outputs=[Output(question("run-stop"), "data"), Output(question("run-delete"), "data"), reload],
        states=[run_id, State("run-name", "children"), reloads],
        on_error=refused,
    )
    async def act(pressed: Mapping[str, str], run_id: str, name: str, reloads: int) -> Any:
        verb, client = pressed["verb"], api.client()
        if verb in ("change", "fork"):
            raise PreventUpdate
        if verb == "stop":
            run = await client.run(run_id)
            set_props("run-stop-when", {"value": sooner_than(run.stopping_when)})
            asked = _question(verb, name)
            return Question({**asked, "text": asked["text"] + stop_time_text(run)}), no_update, no_update
        if verb == "delete":
            preview = await client.preview_deletion(DeletionRequest(run_ids=[run_id]))
            asked = Question({**_question(verb, name), "text": deletion_text(preview.items[0], preview.trash_days)})
            return no_update, asked, no_update
        await perform(client, run_id, verb)
        return no_update, no_update, reloads + 1

    @when_agreed(app, "run-stop", [reload], [State("run-stop-when", "value"), run_id, reloads])
    async def stop(_: None, when: StopMoment, run_id: str, reloads: int) -> Any:
        run = await api.client().stop(run_id, when)
        if run.steps_lost:
            tell(f"{run.steps_lost:,} completed steps after the newest checkpoint are lost.", "Stopping now", "yellow")
        return [reloads + 1]

    @when_agreed(app, "run-delete", states=[run_id])
    async def delete(_: None, run_id: str) -> None:
        await api.client().delete_run(run_id)
        go_to(f"/runs?trashed={run_id}")
