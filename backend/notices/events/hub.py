"""Listens to the event log once per process: queues events for every open stream, and wakes workers that wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio.to_thread
import psycopg
from sqlalchemy.exc import DBAPIError

from backend.kit import events, instruments
from backend.kit.database import Database
from bapo.api.records import StreamEvent

LOG = logging.getLogger(__name__)

QUEUE_SIZE = 2_000
"""A reader that falls this far behind is cut off; it comes back with its last event's id."""
RECONNECT_SECONDS = 1.0
MOST_OF_PERSON = 250
"""Open streams; each page has one, and each holds connections that all share."""


class Subscription:
    """One reader."""

    def __init__(self, person_id: str, run_id: str | None, only: str | None = None) -> None:
        self.person_id = person_id
        self.run_id = run_id
        self.only = only
        self._queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue(QUEUE_SIZE)

    def offer(self, event: StreamEvent) -> None:
        """Hand over an event, or end the stream of a reader that does not keep up."""
        if self.only not in (None, event.event) or self.run_id not in (None, event.data["run_id"]):
            return
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            instruments.STREAMS_CUT.inc()
            self.close()

    def close(self) -> None:
        """End the stream; what waits is dropped."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def next(self, timeout_seconds: float) -> StreamEvent | None:
        """Return the next event; None at the end. Raises TimeoutError after a silence."""
        return await asyncio.wait_for(self._queue.get(), timeout_seconds)


class EventHub:
    """Listens to the database and hands events on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._subscriptions: set[Subscription] = set()
        self._observers: list[Callable[[StreamEvent], None]] = []
        self._deletion_observers: list[Callable[[str], None]] = []
        self._waiting_workers: dict[str, list[asyncio.Event]] = {}
        self._last_id = 0
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    def observe(self, observer: Callable[[StreamEvent], None]) -> None:
        """Call this in the event loop with every event."""
        self._observers.append(observer)

    def observe_deletions(self, observer: Callable[[str], None]) -> None:
        """Call this in the event loop with the identifier of every run that is deleted."""
        self._deletion_observers.append(observer)

    @property
    def is_closed(self) -> bool:
        """True if the server is about to stop, so that no request should begin to wait."""
        return self._closed

    @contextmanager
    def assignments(self, worker_id: str) -> Iterator[asyncio.Event]:
        """Set whenever a run is assigned to this worker from now on, and when the server is about to stop."""
        woken = asyncio.Event()
        if self._closed:
            woken.set()
        waiting = self._waiting_workers.setdefault(worker_id, [])
        waiting.append(woken)
        try:
            yield woken
        finally:
            waiting.remove(woken)
            if not waiting:
                del self._waiting_workers[worker_id]

    def num_streams(self, person_id: str) -> int:
        """Return the number of the user's open streams."""
        return sum(each.person_id == person_id for each in tuple(self._subscriptions))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen as long as the block runs."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._listen(), name="event hub")
        try:
            await self._listening.wait()
            yield
        finally:
            self.close_streams()
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def close_streams(self) -> None:
        """End all streams and all waiting, so that the server can stop."""
        self._closed = True
        for worker_id in self._waiting_workers:
            self._wake(worker_id)
        for subscription in self._subscriptions:
            subscription.close()

    def close_streams_threadsafe(self) -> None:
        """End all streams from another thread or from a signal handler."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.close_streams)

    @asynccontextmanager
    async def subscribe(
        self, person_id: str, run_id: str | None, only: str | None = None
    ) -> AsyncIterator[Subscription]:
        """Yield a queue of the events from now on, of one run and of one kind where they are named."""
        subscription = Subscription(person_id, run_id, only)
        # Many may have been let in at the same moment.
        if self._closed or self.num_streams(person_id) >= MOST_OF_PERSON:
            subscription.close()
        self._subscriptions.add(subscription)
        instruments.STREAMS.inc()
        try:
            yield subscription
        finally:
            instruments.STREAMS.dec()
            self._subscriptions.discard(subscription)

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            # The second is of the connection that reads what was missed: without it, a server that starts while its
            # database restarts would wait for this task forever.
            except (psycopg.OperationalError, DBAPIError) as error:
                LOG.warning("lost the database, trying again", extra={"cause": str(error).strip()})
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._database.conninfo, autocommit=True)
        async with connection:
            for channel in (events.CHANNEL, events.DELETED_CHANNEL, events.ASSIGNED_CHANNEL):
                await connection.execute(f"LISTEN {channel}")
            # Events committed while the connection was down. The first time there are none to catch up with.
            missed = await anyio.to_thread.run_sync(self._missed)
            for event in missed:
                self._deliver(event)
            self._listening.set()
            async for notification in connection.notifies():
                if notification.channel == events.DELETED_CHANNEL:
                    self._end_of(notification.payload)
                elif notification.channel == events.ASSIGNED_CHANNEL:
                    self._wake(notification.payload)
                else:
                    self._deliver(StreamEvent.model_validate_json(notification.payload))

    def _missed(self) -> list[StreamEvent]:
        with self._database.session() as session:
            if self._last_id == 0:
                self._last_id = events.latest_id(session)
            return list(events.events_after(session, self._last_id, None))

    def _end_of(self, run_id: str) -> None:
        for observer in self._deletion_observers:
            observer(run_id)
        for subscription in self._subscriptions:
            if subscription.run_id == run_id:
                subscription.close()

    def _wake(self, worker_id: str) -> None:
        for woken in self._waiting_workers.get(worker_id, ()):
            woken.set()

    def _deliver(self, event: StreamEvent) -> None:
        if event.id <= self._last_id:
            return
        self._last_id = event.id
        instruments.EVENTS.inc()
        for observer in self._observers:
            observer(event)
        for subscription in self._subscriptions:
            subscription.offer(event)
