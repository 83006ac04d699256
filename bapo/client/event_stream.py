"""A run's events from now until it has ended, over cuts of the connection: what both clients share of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any, get_args

import orjson

from bapo.api.records import StreamEvent
from bapo.api.runs import TERMINAL_STATUSES, RunDetail, RunStatus
from bapo.client.call import Retries
from bapo.client.errors import BapoError

PATIENCE_SECONDS = 600.0
"""A server may be away for so long before following it is given up."""

EVENT_NAMES = frozenset(get_args(StreamEvent.model_fields["event"].annotation))
"""A newer server may tell more kinds than this client knows."""

Until = RunStatus | str | Collection[RunStatus | str] | Callable[[RunDetail], bool]
"""A status, any of several, or a question to ask of the run after each of its events."""


class StreamReader:
    """Puts the lines of a text/event-stream together."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> StreamEvent | None:
        """Return the event that this line completes, if any."""
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields or fields["event"] not in EVENT_NAMES:
            return None
        content = {"id": int(fields["id"]), "event": fields["event"], "data": orjson.loads(fields["data"])}
        return StreamEvent.model_validate(content, extra="ignore")


def is_sign_of_life(line: str) -> bool:
    """Return whether the line is a comment, which the server sends to keep the connection open."""
    return line.startswith(":")


class StreamPosition:
    """The position of a reader in a run's events: the last event, and how long the server has been away."""

    def __init__(self, last_event_id: int | None, patience_seconds: float | None) -> None:
        self.last_event_id = last_event_id
        self.is_over = False
        self.was_cut = False
        self._patience_seconds = patience_seconds
        self._away_since: float | None = None
        self._tried = 0
        self._pauses = Retries(count=0)

    def take(self, event: StreamEvent) -> StreamEvent:
        """Note an event on its way to the caller."""
        self.last_event_id = event.id
        self._away_since, self._tried = None, 0
        if event.event == "status" and event.data["status"] in TERMINAL_STATUSES:
            self.is_over = True
        return event

    def cut(self, error: BapoError | None) -> float:
        """Return how long to wait before reconnecting after a cut or an ended stream. Raises `error` when patience is
        out."""
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        away_seconds = now - self._away_since
        if error is not None and self._patience_seconds is not None and away_seconds >= self._patience_seconds:
            raise error
        self.was_cut = True
        pause = self._pauses.pause_seconds(self._tried)
        self._tried += 1
        return pause

    def made_up(self, run: RunDetail) -> StreamEvent | None:
        """Return the event of a run's end, after a cut and a silence: the server no longer remembers it."""
        if run.status not in TERMINAL_STATUSES:
            return None
        data: dict[str, Any] = {
            "run_id": run.id,
            "status": run.status.value,
            "name": run.name,
            "step": run.step,
            "num_steps": run.num_steps,
            "attempt": run.attempt,
            "reason": run.status_reason,
        }
        return self.take(StreamEvent(id=self.last_event_id or 0, event="status", data=data))


def is_reached(run: RunDetail, until: Until | None) -> bool:
    """Return whether a run has reached the state that the caller waits for, or has ended."""
    if run.status in TERMINAL_STATUSES:
        return True
    match until:
        case None:
            return False
        case str():
            return run.status == until
        case Collection():
            return run.status in until
        case _:
            return until(run)


def concerns(event: StreamEvent, until: Until | None) -> bool:
    """Return whether an event can end the wait: a predicate may read any field, a status has its own events."""
    return event.event == "status" or callable(until)
