"""Start, stop, pause, resume, delete: one click each, but a word before what cannot be undone."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, no_update

from bapo.api import RunDetail
from bapo.client import ApiError, AsyncClient
from frontend.components.notices import error_text, toast
from frontend.session import Api

CONSEQUENCES: dict[str, tuple[str, str, str]] = {
    "stop": (
        "Stop this run?",
        "Training ends at the next step boundary, after a checkpoint. The run is then cancelled for good: to go on, "
        "clone it. To continue later, pause it instead.",
        "Stop the run",
    ),
    "delete": (
        "Delete this run?",
        "Its records, samples and history disappear from the server. The folder with its journal and checkpoints "
        "stays where it is.",
        "Delete the run",
    ),
}
"""Title, consequence and button of the actions that ask first."""


def dialogs(run: RunDetail) -> list[dmc.Modal]:
    """One dialog for each dangerous action; it names the run."""
    return [
        dmc.Modal(
            dmc.Stack(
                [
                    dmc.Text(run.name, fw=600, className="wrap-anywhere"),
                    dmc.Text(text, size="sm"),
                    dmc.Group(
                        [
                            dmc.Button(
                                "Keep it", id={"type": "run-keep", "verb": verb}, variant="default", color="gray"
                            ),
                            dmc.Button(button, id={"type": "run-confirm", "verb": verb}, color="red"),
                        ],
                        justify="flex-end",
                    ),
                ]
            ),
            id={"type": "run-dialog", "verb": verb},
            title=title,
            centered=True,
        )
        for verb, (title, text, button) in CONSEQUENCES.items()
    ]


async def perform(client: AsyncClient, run_id: str, verb: str) -> None:
    """Ask the server for it."""
    match verb:
        case "start":
            await client.start(run_id)
        case "resume":
            await client.resume(run_id)
        case "pause":
            await client.pause(run_id)
        case "stop":
            await client.stop(run_id)
        case "delete":
            await client.delete_run(run_id)
        case _:
            raise ValueError(f"no action {verb!r}")


def register(app: Dash, api: Api) -> None:
    """Buttons and dialogs."""

    @app.callback(
        Output({"type": "run-dialog", "verb": ALL}, "opened"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("run-reload", "data", allow_duplicate=True),
        Output("url", "pathname", allow_duplicate=True),
        Input({"type": "run-action", "verb": ALL}, "n_clicks"),
        Input({"type": "run-confirm", "verb": ALL}, "n_clicks"),
        Input({"type": "run-keep", "verb": ALL}, "n_clicks"),
        State("run-id", "data"),
        State("run-reload", "data"),
        prevent_initial_call=True,
    )
    async def act(_: Any, __: Any, ___: Any, run_id: str, reloads: int) -> Any:
        dialogs_shown = [output["id"]["verb"] for output in ctx.outputs_list[0]]
        closed: list[bool] = [False] * len(dialogs_shown)
        trigger: Any = ctx.triggered_id
        if not trigger or not ctx.triggered[0]["value"]:
            return [no_update] * len(dialogs_shown), no_update, no_update, no_update
        kind, verb = trigger["type"], trigger["verb"]
        if kind == "run-keep" or (kind == "run-action" and verb == "change"):
            return closed, no_update, no_update, no_update
        if kind == "run-action" and verb in CONSEQUENCES:
            return [shown == verb for shown in dialogs_shown], no_update, no_update, no_update
        try:
            await perform(api.client(), run_id, verb)
        except (ApiError, httpx.TransportError) as error:
            return closed, toast(error_text(error), title=f"Could not {verb} the run"), no_update, no_update
        if verb == "delete":
            return closed, toast("The run is deleted.", title="Deleted", colour="green"), no_update, "/runs"
        return closed, no_update, reloads + 1, no_update
