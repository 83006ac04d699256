"""Administration of the queue: each user's limit of runs on workers; draining, undraining and forgetting workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, no_update, set_props
from dash.exceptions import PreventUpdate

from bapo.api.queue import LimitChange, UserLimits
from bapo.api.workers import DrainRequest
from frontend.components.actions import in_toast, tell, when_pressed
from frontend.components.card import section_title
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.elements import Store, attributes, pressed_in
from frontend.components.table import cell, row, table_card
from frontend.pages.queue.workers import WORKER_ACTION
from frontend.request.session import Api


def limits_panel(limits: UserLimits) -> html.Div:
    """Return a row for each user; unlike the board it is not redrawn, so that nothing typed is lost."""
    default = "no limit" if limits.default is None else f"{limits.default:,} (set on the server)"
    rows = [
        row(
            html.Div(each.user, className="queue-owner", title=each.user),
            cell(f"{each.running:,}", "number"),
            cell(f"{each.waiting:,}", "number"),
            dmc.NumberInput(
                id={"type": "queue-limit", "user": each.user},
                value="" if each.max_running is None else each.max_running,
                placeholder=default,
                min=0,
                max=100_000,
                allowDecimal=False,
                allowNegative=False,
                debounce=True,
                size="xs",
                w=200,
                **attributes(aria_label=f"Most runs of {each.user} at a time"),
            ),
        )
        for each in limits.items
    ]
    return html.Div(
        [
            section_title("Limits per user"),
            table_card(("User", "On workers", "Waiting", "Most at a time"), rows, "limits-table"),
            Store(id="queue-limits", data={each.user: each.max_running for each in limits.items}),
        ]
    )


def _limiting(app: Dash, api: Api) -> None:
    """Register the callback that sets a limit as soon as it is typed."""

    @app.callback(
        Output("queue-limits", "data"),
        Input({"type": "queue-limit", "user": ALL}, "value"),
        State("queue-limits", "data"),
        prevent_initial_call=True,
        on_error=in_toast("Limit not changed"),
    )
    async def change(_: Any, known: dict[str, int | None]) -> Any:
        user, value = ctx.triggered_id["user"], ctx.triggered[0]["value"]
        most = None if value in ("", None) else int(value)
        if most == known.get(user):
            # The page has been opened.
            raise PreventUpdate
        await api.client().set_limit(user, LimitChange(max_running=most))
        held = "the server's limit" if most is None else f"at most {most:,} at a time"
        tell(f"{user}: {held}.", "Limit changed")
        return {**known, user: most}


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
    _limiting(app, api)
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
