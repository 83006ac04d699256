"""Draining, undraining and forgetting workers, from the page of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Output, State, html, no_update, set_props

from bapo.api.workers import DrainRequest
from frontend.components.actions import tell, when_pressed
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.elements import pressed_in
from frontend.pages.queue.workers import WORKER_ACTION
from frontend.request.session import Api

DIALOG = "worker"
_QUESTIONS = {
    "drain": Question(
        title="Drain this worker?",
        text="It gets no new runs until it is undrained. The runs that it trains continue.",
        button="Drain",
        colour="blue",
    ),
    "forget": Question(
        title="Forget this worker?",
        text="It leaves the lists, and its name is free for another. If it starts again, it returns automatically.",
        button="Forget",
    ),
}


def worker_dialog() -> html.Div:
    """Return the dialog that asks before a worker is drained or forgotten."""
    hand_on = dmc.Checkbox(
        id="worker-hand-on",
        label="Also hand over its runs",
        description="Each ends at its next step boundary, after a checkpoint, and is queued again for other workers. "
        "Without shared storage only a worker on the same host can take it.",
        checked=False,
    )
    return confirm_dialog(DIALOG, keep="Cancel", choices=html.Div(hand_on, id="worker-hand-on-row"))


def register(app: Dash, api: Api) -> None:
    """Register the callbacks of the buttons in the table."""
    refresh = Output("workers-board-refresh", "n_intervals", allow_duplicate=True)
    rounds = State("workers-board-refresh", "n_intervals")

    @when_pressed(
        app,
        pressed_in(WORKER_ACTION),
        outputs=[Output(question(DIALOG), "data"), refresh],
        states=[rounds],
    )
    async def ask(press: Mapping[str, Any], rounds: int | None) -> Any:
        if press["verb"] == "undrain":
            worker = await api.client().undrain_worker(press["worker"])
            tell(f"{worker.name} gets runs again.", "Undrained")
            return no_update, (rounds or 0) + 1
        set_props("worker-hand-on-row", {"style": {} if press["verb"] == "drain" else {"display": "none"}})
        set_props("worker-hand-on", {"checked": False})
        asked = Question(**_QUESTIONS[press["verb"]], subject=press["name"])
        asked["data"] = {"worker": press["worker"], "verb": press["verb"], "name": press["name"]}
        return asked, no_update

    @when_agreed(app, DIALOG, [refresh], [State("worker-hand-on", "checked"), rounds])
    async def act(asked: Mapping[str, str], hand_on: bool, rounds: int | None) -> Any:
        client = api.client()
        if asked["verb"] == "drain":
            await client.drain_worker(asked["worker"], DrainRequest(hand_on=hand_on))
        else:
            await client.forget_worker(asked["worker"])
        tell(f"{asked['name']}.", "Draining" if asked["verb"] == "drain" else "Forgotten")
        return [(rounds or 0) + 1]
