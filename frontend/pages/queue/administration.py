"""Draining, undraining and forgetting workers, from the page of the workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, html, no_update

from bapo.api.workers import DrainRequest
from bapo.client import ApiError
from frontend.components.confirm import DONE, Question, answer, busy, confirm_dialog, confirmed, failed, question
from frontend.components.notices import error_text, toast
from frontend.components.store_button import store_id
from frontend.pages.queue.workers import WORKER_ACTION
from frontend.session import Api

DIALOG = "worker"
_QUESTIONS = {
    "drain": Question(
        title="Drain this worker?",
        text="It gets no new runs until it is undrained. What it trains goes on.",
        button="Drain",
        colour="blue",
    ),
    "forget": Question(
        title="Forget this worker?",
        text="It leaves the lists, and its name is free for another. It comes back by itself if it starts again.",
        button="Forget",
    ),
}


def worker_dialog() -> html.Div:
    """Asks before a worker is drained or forgotten."""
    hand_on = dmc.Checkbox(
        id="worker-hand-on",
        label="Also hand its runs on",
        description="Each ends at its next step boundary, after a checkpoint, and is queued again for other workers. "
        "Without shared storage only a worker on the same host can take it.",
        checked=False,
    )
    return confirm_dialog(DIALOG, keep="Leave it", choices=html.Div(hand_on, id="worker-hand-on-row"))


def register(app: Dash, api: Api) -> None:
    """The buttons of the table."""

    @app.callback(
        Output(question(DIALOG), "data"),
        Output("worker-hand-on-row", "style"),
        Output("worker-hand-on", "checked"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("workers-board-refresh", "n_intervals", allow_duplicate=True),
        Input(store_id(WORKER_ACTION), "data"),
        State("workers-board-refresh", "n_intervals"),
        prevent_initial_call=True,
    )
    async def ask(press: Mapping[str, Any] | None, rounds: int | None) -> Any:
        if not press:
            return (no_update,) * 5
        if press["verb"] == "undrain":
            try:
                worker = await api.client().undrain_worker(press["worker"])
            except (ApiError, httpx.TransportError) as error:
                return *(no_update,) * 3, toast(error_text(error), title="This was not done"), no_update
            done = toast(f"{worker.name} gets runs again.", title="Undrained", colour="green")
            return *(no_update,) * 3, done, (rounds or 0) + 1
        asked = Question(**_QUESTIONS[press["verb"]], subject=press["name"])
        asked["data"] = {"worker": press["worker"], "verb": press["verb"]}
        style = {} if press["verb"] == "drain" else {"display": "none"}
        return asked, style, False, no_update, no_update

    @app.callback(
        Output(answer(DIALOG), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Output("workers-board-refresh", "n_intervals", allow_duplicate=True),
        Input(confirmed(DIALOG), "n_clicks"),
        State(question(DIALOG), "data"),
        State("worker-hand-on", "checked"),
        State("workers-board-refresh", "n_intervals"),
        running=busy(DIALOG),
        prevent_initial_call=True,
    )
    async def act(clicks: int | None, asked: Question, hand_on: bool, rounds: int | None) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        worker_id, verb = asked["data"]["worker"], asked["data"]["verb"]
        try:
            if verb == "drain":
                await api.client().drain_worker(worker_id, DrainRequest(hand_on=hand_on))
            else:
                await api.client().forget_worker(worker_id)
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), no_update, no_update
        done = "Draining" if verb == "drain" else "Forgotten"
        return DONE, toast(f"{asked['subject']}.", title=done, colour="green"), (rounds or 0) + 1
