"""The queue and the workers: which runs wait and why, and which machines train what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dash import Dash, Input, Output, html

from frontend.components.actions import in_place, tell, when_pressed
from frontend.components.card import page_heading, section_title, tiles
from frontend.components.dialogs import Question, confirm_dialog, question, when_agreed
from frontend.components.elements import Interval, attributes, button_store, pressed_in
from frontend.components.page import Page
from frontend.pages.queue.administration import limits_panel, worker_dialog
from frontend.pages.queue.waiting_table import CANCEL, waiting_table
from frontend.pages.queue.workers import WORKER_ACTION, worker_board, worker_table
from frontend.request.session import Api

REFRESH_MILLISECONDS = 2000
"""Interval of refreshing, equal to that of the workers' heartbeats."""

CONSEQUENCES: dict[str, str] = {
    "waiting": "It leaves the queue and is cancelled for good. To run it later, clone it.",
    "held": "Training ends at the next step boundary, after a checkpoint, and the run is cancelled for good. To "
    "continue it later, pause it on its own page instead.",
}


async def queue_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page of the queue."""
    me = await api.client().me()
    panel = [limits_panel(await api.client().limits())] if me.role == "admin" else []
    return _page("Queue", "queue-board", await queue_board(api), [_bulk_bar(), *panel])


async def workers_layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page of the workers: every machine that has ever taken runs."""
    return _page("Workers", "workers-board", await workers_board(api), [worker_dialog(), button_store(WORKER_ACTION)])


def _bulk_bar() -> html.Div:
    """Return the actions on the selected runs; `assets/queue.js` shows it."""
    actions = (("Hold", "hold"), ("Release", "release"), ("Clear selection", "none"))
    buttons = [
        html.Button(label, type="button", className="queue-bulk-button", **attributes(data_queue_bulk=action))
        for label, action in actions
    ]
    return html.Div([html.Span("", id="queue-chosen"), *buttons], id="queue-bulk", hidden=True, role="toolbar")


def _page(title: str, board: str, content: Any, rest: Sequence[Any]) -> html.Div:
    return html.Div(
        [
            page_heading(title),
            html.Div(content, id=board),
            *rest,
            Interval(id=f"{board}-refresh", interval=REFRESH_MILLISECONDS),
            confirm_dialog(CANCEL),
            button_store(CANCEL),
        ]
    )


async def queue_board(api: Api) -> list[Any]:
    """Return tiles, slots and the waiting runs, as of now."""
    state, now = await api.client().queue(), datetime.now(UTC)
    online = sum(worker.online for worker in state.workers)
    return [
        tiles(
            ("Waiting runs", f"{state.num_waiting:,}", ""),
            ("Slots in use", f"{state.busy:,} of {state.slots:,}", "on workers that are online"),
            ("Workers online", f"{online:,} of {len(state.workers):,}", ""),
        ),
        section_title("Running"),
        worker_board([worker for worker in state.workers if worker.online or worker.runs], now),
        section_title("Waiting, in starting order"),
        waiting_table(state.waiting, state.num_waiting, now),
    ]


async def workers_board(api: Api) -> list[Any]:
    """Return the table of workers, as of now."""
    state = await api.client().queue()
    return [worker_table(state.workers, datetime.now(UTC), may_administer=state.may_administer)]


PAGES = (
    Page("/queue", queue_layout, section="queue"),
    Page("/workers", workers_layout, section="workers"),
)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: refreshing, and cancelling after a question."""
    for board, content in (("queue-board", queue_board), ("workers-board", workers_board)):
        _refresh(app, api, board, content)

    @when_pressed(app, pressed_in(CANCEL), outputs=[Output(question(CANCEL), "data")])
    async def ask(press: Mapping[str, str]) -> Question:
        return Question(
            title="Cancel this run?",
            subject=press["name"],
            text=CONSEQUENCES[press["kind"]],
            button="Cancel the run",
            data=press["run"],
        )

    @when_agreed(app, CANCEL)
    async def cancel(run_id: str) -> None:
        run = await api.client().stop(run_id)
        tell(f"{run.name} is {run.status.value}.", "Cancelled")


def _refresh(app: Dash, api: Api, board: str, content: Callable[[Api], Awaitable[list[Any]]]) -> None:
    @app.callback(
        Output(board, "children"),
        Input(f"{board}-refresh", "n_intervals"),
        prevent_initial_call=True,
        on_error=in_place(board),
    )
    async def refresh(_: int) -> Any:
        return await content(api)
