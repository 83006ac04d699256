"""Sends run IDs through Celery. Lost messages are sent again, duplicates are refused on claim."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import unquote, urlsplit

import redis
from celery import Celery
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from backend.kit import instruments

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
