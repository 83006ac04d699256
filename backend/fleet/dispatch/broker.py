"""Sends run IDs through Celery, or over HTTPS to workers that ask there.

Lost messages are sent again, duplicates are refused on claim. Over HTTPS the answer is what the dispatcher would send:
the runs that the database has promised to the worker. So a repeated, late or lost answer changes nothing either.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio.to_thread
import redis
from celery import Celery
from fastapi import Request
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from backend.kit import instruments
from backend.kit.context import Context
from backend.kit.database import Database
from backend.kit.principal import Principal
from backend.notices.events.hub import EventHub
from backend.workers import repository
from backend.workers.administration import worker_of
from bapo.api.workers import AssignedRunsRequest

LOG = logging.getLogger(__name__)

RUN_TASK = "bapo.run"
TIMEOUT_SECONDS = 2.0


class _Producer(Celery):  # type: ignore[misc] # Celery has no types
    """Celery that connects to its own broker: by itself it takes CELERY_BROKER_URL of the environment before it."""

    url: str

    def connection_for_write(self, url: str | None = None, *args: Any, **options: Any) -> Any:
        """Return a connection to the broker."""
        return super().connection_for_write(url or self.url, *args, **options)


class Broker:
    """The producer's side of the queues."""

    def __init__(self, url: str) -> None:
        self._app = _Producer("bapo", broker=url, set_as_current=False)
        self._app.url = url
        self._app.conf.update(
            task_serializer="json",
            task_ignore_result=True,
            broker_connection_timeout=TIMEOUT_SECONDS,
            broker_transport_options={
                "socket_timeout": TIMEOUT_SECONDS,
                "socket_connect_timeout": TIMEOUT_SECONDS,
                "retry_on_timeout": False,
                # One try: the dispatcher comes back in a second by itself.
                "max_retries": 1,
                "interval_start": 0,
                "interval_step": 0,
                "interval_max": 0,
            },
        )
        self._is_away = False
        self._redis = redis_client(url)

    def send(self, run_id: str, queue: str) -> bool:
        """Put a run into a worker's queue; false where the broker does not answer."""
        try:
            self._app.send_task(RUN_TASK, args=[run_id], queue=queue, retry=False)
        except OperationalError as error:
            if not self._is_away:
                LOG.warning("the broker does not answer: runs wait until it does", extra={"cause": str(error)})
            self._is_away = True
            instruments.DELIVERIES.labels("failed").inc()
            instruments.BROKER_UP.set(0)
            return False
        if self._is_away:
            LOG.info("the broker answers again")
        self._is_away = False
        instruments.DELIVERIES.labels("sent").inc()
        instruments.BROKER_UP.set(1)
        return True

    def problem(self) -> str | None:
        """Return why the broker cannot be used; None where it answers."""
        try:
            self._redis.ping()
        except redis.RedisError as error:
            return str(error)
        return None

    def info(self) -> dict[str, Any]:
        """Return Redis's own information. Raises redis.RedisError."""
        found: dict[str, Any] = self._redis.info()
        return found

    def close(self) -> None:
        """Close the connections."""
        self._app.close()
        self._redis.close()


def redis_client(url: str) -> redis.Redis:
    """Return a client of the same Redis, which makes no connection before it is used."""
    parts = urlsplit(url)
    options: dict[str, Any] = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
    options["retry"] = Retry(NoBackoff(), 0)
    if parts.scheme == "redis+socket":
        # Celery's own form of an address.
        password = unquote(parts.password) if parts.password else None
        return redis.Redis(unix_socket_path=unquote(parts.path), password=password, **options)
    return redis.Redis.from_url(url, **options)


async def wait_for_runs(context: Context, request: Request, body: AssignedRunsRequest, caller: Principal) -> list[str]:
    """Return the runs to look at, as soon as there are any; none after the time asked for, or when the server stops.

    Holds no thread and no connection to the database while it waits. Raises Problem 404 for another token's worker.
    """
    hub = context.part(EventHub)
    deadline = time.monotonic() + body.wait_seconds
    # First this, then a look: nothing falls between.
    with hub.assignments(body.worker_id) as assigned:
        while not hub.is_closed:
            run_ids = await anyio.to_thread.run_sync(_take, context.database, body.worker_id, caller)
            left = deadline - time.monotonic()
            if run_ids or left <= 0:
                return run_ids
            with suppress(TimeoutError):
                await asyncio.wait_for(assigned.wait(), min(left, repository.RESEND_SECONDS))
            assigned.clear()
            if await request.is_disconnected():
                # Of a worker that was killed: its successor may be waiting for the same run.
                break
    return []


def _take(database: Database, worker_id: str, caller: Principal) -> list[str]:
    with database.session() as session, session.begin():
        messages = repository.unsent_to(session, worker_of(session, worker_id, caller))
        for message in messages:
            repository.mark_sent(session, message)
    instruments.DELIVERIES.labels("sent").inc(len(messages))
    return [message.run_id for message in messages]
