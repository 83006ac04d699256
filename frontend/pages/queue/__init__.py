"""What waits and why, what runs where, and the machines that do it: two pages over the same state of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, dcc, html, no_update

from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.confirm import DONE, Question, answer, busy, confirm_dialog, confirmed, failed, question
from frontend.components.notices import error_text, toast
from frontend.components.store_button import button_store, store_id
from frontend.pages.queue import administration, limits
from frontend.pages.queue.administration import worker_dialog
from frontend.pages.queue.limits import limits_panel
from frontend.pages.queue.waiting import CANCEL, waiting_table
from frontend.pages.queue.workers import WORKER_ACTION, worker_board, worker_table
from frontend.session import Api

REFRESH_MILLISECONDS = 2000
"""As often as workers send their heartbeats."""

CONSEQUENCES: dict[str, str] = {
    "waiting": "It leaves the queue and is cancelled for good: to run it later, clone it.",
    "held": "Training ends at the next step boundary, after a checkpoint, and the run is cancelled for good: to go on, "
    "clone it. To continue later, pause it on its own page instead.",
}


async def queue_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """What waits, and every slot."""
    me = await api.client().me()
    panel = [limits_panel(await api.client().limits())] if me.role == "admin" else []
    return _page("Queue", "queue-board", await queue_board(api), [_bulk_bar(), *panel])


async def workers_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Every machine that has ever taken runs."""
    return _page("Workers", "workers-board", await workers_board(api), [worker_dialog(), button_store(WORKER_ACTION)])


def _bulk_bar() -> html.Div:
    """What can be done to the runs that are chosen; `assets/queue.js` shows it."""
    actions = (("Hold", "hold"), ("Release", "release"), ("Choose none", "none"))
    buttons = [
        html.Button(label, type="button", className="queue-bulk-button", **attributes(data_queue_bulk=action))
        for label, action in actions
    ]
    return html.Div([html.Span("", id="queue-chosen"), *buttons], id="queue-bulk", hidden=True, role="toolbar")


def _page(title: str, board: str, content: Any, rest: Sequence[Any]) -> html.Div:
    return html.Div(
        [
            dmc.Title(title, order=2, mb="md"),
            html.Div(content, id=board),
            *rest,
            dcc.Interval(id=f"{board}-refresh", interval=REFRESH_MILLISECONDS),
            confirm_dialog(CANCEL),
            button_store(CANCEL),
        ]
    )


async def queue_board(api: Api) -> list[Any]:
    """Tiles, slots and the waiting runs, as of now."""
    state, now = await api.client().queue(), datetime.now(UTC)
    online = sum(worker.online for worker in state.workers)
    facts = (
        (f"{state.num_waiting:,}", "waiting", ""),
        (f"{state.busy:,} of {state.slots:,}", "slots in use", "of the workers that are online"),
        (f"{online:,} of {len(state.workers):,}", "workers online", ""),
    )
    tiles = [
        html.Div(
            [html.Span(label, className="tile-label"), html.Div(value, className="tile-value"), html.Div(note)],
            className="tile",
        )
        for value, label, note in facts
    ]
    return [
        html.Div(tiles, className="tiles queue-tiles"),
        html.H3("What runs where", className="section-title"),
        worker_board([worker for worker in state.workers if worker.online or worker.runs], now),
        html.H3("What waits, in the order in which it starts", className="section-title"),
        waiting_table(state.waiting, state.num_waiting, now),
    ]


async def workers_board(api: Api) -> list[Any]:
    """The table of workers, as of now."""
    state = await api.client().queue()
    return [worker_table(state.workers, datetime.now(UTC), may_administer=state.may_administer)]


def register(app: Dash, api: Api) -> None:
    """Refreshing, and cancelling with a word before."""
    for board, content in (("queue-board", queue_board), ("workers-board", workers_board)):
        _refresh(app, api, board, content)
    administration.register(app, api)
    limits.register(app, api)

    @app.callback(
        Output(question(CANCEL), "data"),
        Input(store_id(CANCEL), "data"),
        prevent_initial_call=True,
    )
    def ask(press: Mapping[str, Any] | None) -> Any:
        if not press:
            return no_update
        return Question(
            title="Cancel this run?",
            subject=press["name"],
            text=CONSEQUENCES[press["kind"]],
            button="Cancel the run",
            data=press["run"],
        )

    @app.callback(
        Output(answer(CANCEL), "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input(confirmed(CANCEL), "n_clicks"),
        State(question(CANCEL), "data"),
        running=busy(CANCEL),
        prevent_initial_call=True,
    )
    async def cancel(clicks: int | None, asked: Question) -> Any:
        if not clicks:
            return no_update, no_update
        try:
            run = await api.client().stop(asked["data"])
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), no_update
        return DONE, toast(f"{run.name} is {run.status.value}.", title="Cancelled", colour="green")


def _refresh(app: Dash, api: Api, board: str, content: Any) -> None:
    @app.callback(
        Output(board, "children"),
        Input(f"{board}-refresh", "n_intervals"),
        prevent_initial_call=True,
    )
    async def refresh(_: int) -> Any:
        try:
            return await content(api)
        except (ApiError, httpx.TransportError) as error:
            # A passing trouble must not wipe what is shown; it is said above it.
            return [dmc.Alert(error_text(error), color="yellow", variant="light")]
