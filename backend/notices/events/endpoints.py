"""Routes of the event streams."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any, Literal

import anyio.to_thread
import orjson
from fastapi import Header, Query
from fastapi.responses import StreamingResponse

from backend.kit import events, project_scope
from backend.kit.context import Context, ContextOf, DbSession, new_router
from backend.kit.errors import Problem
from backend.kit.permissions import Reader
from backend.kit.principal import Principal
from backend.notices.events.hub import MOST_OF_PERSON, EventHub
from backend.runs import repository as runs
from bapo.api.records import StreamEvent

router = new_router("events")

SILENCE_SECONDS = 15.0
"""A comment is sent after this silence, so that proxies keep the connection and both sides notice a dead one."""

Only = Annotated[Literal["step", "evaluation", "tracking", "event", "status", "alert"] | None, Query()]
LastEventId = Annotated[int | None, Header(ge=0, description="ID of the last event received.")]
After = Annotated[
    int | None,
    Query(
        ge=0,
        description="Like `Last-Event-ID`, which takes precedence; for a browser's first request.",
    ),
]

_STREAM_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Events"}
}


class EventStream(StreamingResponse):
    """Never cached, never buffered."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.get(
    "/events",
    status_code=200,
    response_class=EventStream,
    responses=_STREAM_ANSWER,
    summary="Stream events of all runs",
)
def all_events(caller: Reader, context: ContextOf, only: Only = None, last_event_id: LastEventId = None) -> EventStream:
    """Stream server-sent events of the caller's projects, see `StreamEvent`; of one kind with `only`.

    `Last-Event-ID` resumes after a break.
    """
    _check_number(context, caller)
    return EventStream(_stream(context, caller, None, last_event_id, only))


@router.get(
    "/runs/{run_id}/events",
    status_code=200,
    response_class=EventStream,
    responses=_STREAM_ANSWER,
    summary="Stream events of a run",
)
def run_events(
    caller: Reader,
    session: DbSession,
    context: ContextOf,
    run_id: str,
    after: After = None,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Stream server-sent events of one run, see `StreamEvent`: its status first, then what happens.

    `Last-Event-ID`, or the run's `last_event_id`, resumes after a break.
    """
    runs.get(session, run_id)
    _check_number(context, caller)
    return EventStream(_stream(context, caller, run_id, after if last_event_id is None else last_event_id))


def _check_number(context: Context, caller: Principal) -> None:
    """Raise Problem 429 if the caller has the maximum number of open streams."""
    if context.part(EventHub).num_streams(caller.id) >= MOST_OF_PERSON:
        remedy = f"{MOST_OF_PERSON} event streams are open for you, the most that one may have: close pages or scripts"
        raise Problem(429, "too_many_streams", remedy, headers={"Retry-After": "10"})


async def _stream(
    context: Context, caller: Principal, run_id: str | None, last_event_id: int | None, only: str | None = None
) -> AsyncIterator[bytes]:
    async with context.part(EventHub).subscribe(caller.id, run_id, only) as subscription:
        # A browser shows the connection as open once the first byte is there.
        yield b"retry: 1000\n\n"
        # Subscribed first, then read: nothing falls between, and what comes twice is left out below.
        last_id = 0
        for event in await anyio.to_thread.run_sync(_beginning, context, caller, run_id, last_event_id):
            last_id = event.id
            if only in (None, event.event):
                yield _encode(event)
        while True:
            next_event = None
            with suppress(TimeoutError):
                next_event = await subscription.next(SILENCE_SECONDS)
                if next_event is None:
                    return
            # A stream lives long: a login may have ended since it began, or a membership.
            now = await _still_valid(context, caller)
            if now is None:
                return
            if next_event is None:
                yield b": still here\n\n"
            elif next_event.id > last_id and await context.visibility.sees(now, next_event.data["run_id"]):
                yield _encode(next_event)


async def _still_valid(context: Context, caller: Principal) -> Principal | None:
    """Return the caller as it is now; None for a secret that is good no longer."""
    known = context.callers.known_by_hash(caller.secret_hash)
    return known or await anyio.to_thread.run_sync(context.callers.authenticate_hash, caller.secret_hash)


def _beginning(context: Context, caller: Principal, run_id: str | None, last_event_id: int | None) -> list[StreamEvent]:
    """Return the events that the reader missed; for a new reader of one run, its status."""
    with context.database.session() as session:
        project_scope.limit(session, caller.memberships)
        project_scope.hide_trash(session)
        if last_event_id is not None:
            return list(events.events_after(session, last_event_id, run_id))
        if run_id is None:
            return []
        # The identifier first: what is committed in between is then sent again, not left out.
        latest_id = events.latest_id(session)
        data = {"run_id": run_id, **events.status_data(runs.get(session, run_id))}
        return [StreamEvent(id=latest_id, event="status", data=data)]


def _encode(event: StreamEvent) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.id, event.event.encode(), orjson.dumps(event.data))
