"""Prometheus metrics: of each request, and of the state of the server."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from backend.kit import instruments
from backend.kit.context import Context
from backend.kit.middleware import OPEN_ENDED
from bapo import __version__
from bapo.api.runs import RunStatus

UNKNOWN_ROUTE = "none"
"""Route of a request that no route took: its path is the caller's choice and would be a label without bound."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestMetrics:
    """Pure ASGI; the outermost but one, so that refusals are counted too."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "other"
        begin = time.perf_counter()
        instruments.REQUESTS_IN_PROGRESS.inc()
        try:
            await self.app(scope, receive, noting)
        finally:
            instruments.REQUESTS_IN_PROGRESS.dec()
            route = route_of(scope)
            instruments.REQUESTS.labels(method, route, str(status)).inc()
            if not scope["path"].endswith(OPEN_ENDED):
                instruments.REQUEST_SECONDS.labels(method, route).observe(time.perf_counter() - begin)


def route_of(scope: Scope) -> str:
    """Return the template of the route that took the request, such as `/api/v1/runs/{run_id}`."""
    path: str = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
    return path


LOG = logging.getLogger(__name__)

REASONS: tuple[tuple[str, str], ...] = (
    # First, as it repeats why the try before went wrong.
    ("tried_again_later", "will be retried at"),
    ("limit", "waits: "),
    ("no_worker", "waits for a worker: none"),
    ("drained", "drain"),
    ("folder_elsewhere", "which has its folder"),
    ("no_free_slot", "free slot"),
    ("room_kept", "capacity is reserved"),
    ("held", "held"),
    ("needs", "gpu"),
    ("needs", "memory"),
)
"""Label of a reason and what its text contains; the first that fits."""


def reason_label(reason: str) -> str:
    """Return one of a few names for why a run waits: the text itself may name hosts."""
    lower = reason.lower()
    if not lower:
        return "promised"
    return next((label for label, part in REASONS if part in lower), "other")


class StateCollector:
    """Reads the database at each scrape; if it fails, still reports what this process knows."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        yield _gauge("bapo_build_info", "Version of this server.", {(__version__,): 1}, ["version"])
        yield from self._pool()
        up = GaugeMetricFamily("bapo_database_up", "Whether PostgreSQL answered this scrape.")
        try:
            found = list(self._state())
        except SQLAlchemyError:
            LOG.warning("the state could not be read for the metrics", exc_info=True)
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield up
        yield from found

    def _pool(self) -> Iterator[Metric]:
        pool = self._context.database.engine.pool
        assert isinstance(pool, QueuePool), "the engine's default"
        used = {("in_use",): pool.checkedout(), ("idle",): pool.checkedin()}
        yield _gauge("bapo_database_pool_connections", "Connections of this server.", used, ["state"])

    def _state(self) -> Iterator[Metric]:
        with self._context.database.session() as session:
            statuses = {(status.value,): 0 for status in RunStatus}
            statuses |= {(status,): count for status, count in runs_by_status(session).items()}
            yield _gauge("bapo_runs", "Runs by state.", statuses, ["status"])
            waiting = dict.fromkeys(((label,) for label, _ in REASONS), 0) | {("promised",): 0, ("other",): 0}
            for reason, count in waiting_by_reason(session).items():
                waiting[(reason_label(reason),)] += count
            yield _gauge("bapo_queue_runs", "Queued runs by reason.", waiting, ["reason"])
            yield _gauge("bapo_queue_longest_wait_seconds", "Longest wait.", {(): longest_wait(session)}, [])
            silence = {(): longest_silence(session)}
            yield _gauge("bapo_run_longest_silence_seconds", "Longest time without news of a running run.", silence, [])
            found = workers(session, self._context.settings.fresh_seconds)
            online, offline = found.get(True, (0, 0, 0)), found.get(False, (0, 0, 0))
            states = {("online",): online[0], ("offline",): offline[0]}
            yield _gauge("bapo_workers", "Workers by whether they are online.", states, ["state"])
            yield _gauge("bapo_worker_slots", "Slots of online workers.", {(): online[1]}, [])
            yield _gauge("bapo_worker_slots_busy", "Slots in use.", {(): busy_slots(session)}, [])
            yield _gauge("bapo_worker_gpus", "GPUs of online workers.", {(): online[2]}, [])
            used, most = connections(session)
            yield _gauge("bapo_database_connections", "Connections to PostgreSQL.", {(): used}, [])
            yield _gauge("bapo_database_max_connections", "Connections that PostgreSQL allows.", {(): most}, [])
            yield _gauge("bapo_database_bytes", "Size of the database.", {(): database_bytes(session)}, [])


def _gauge(name: str, text: str, values: Mapping[Any, float], labels: list[str]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family


_STATUSES = text("SELECT status, count(*) FROM runs GROUP BY status")
_REASONS = text("SELECT coalesce(status_reason, '') AS reason, count(*) FROM runs WHERE status = 'queued' GROUP BY 1")
_WAITED = text("SELECT extract(epoch FROM now() - min(queued_at))::float8 FROM runs WHERE status = 'queued'")
_WORKERS = text("""
    SELECT last_seen_at > now() - make_interval(secs => :fresh) AS online, count(*), sum(slots),
        sum(jsonb_array_length(gpus))
    FROM workers GROUP BY 1
""")
_BUSY = text("SELECT count(*) FROM attempts WHERE state <> 'ended'")
_SILENCE = text("""
    SELECT max(extract(epoch FROM now() - coalesce(newest.at, runs.started_at, runs.created_at)))::float8
    FROM runs LEFT JOIN LATERAL (
        SELECT at FROM stream WHERE stream.run_id = runs.id ORDER BY id DESC LIMIT 1
    ) AS newest ON true
    WHERE runs.status = 'running'
""")
_SIZE = text("SELECT pg_database_size(current_database())")
_CONNECTIONS = text("SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity")


def runs_by_status(session: Session) -> dict[str, int]:
    """Return the number of runs in each state."""
    return {status: int(number) for status, number in session.execute(_STATUSES)}


def waiting_by_reason(session: Session) -> dict[str, int]:
    """Return the number of queued runs by the reason that people see."""
    return {reason: int(number) for reason, number in session.execute(_REASONS)}


def longest_wait(session: Session) -> float:
    """Return the longest wait of a queued run, in seconds."""
    return session.execute(_WAITED).scalar_one() or 0.0


def workers(session: Session, fresh_seconds: float) -> dict[bool, tuple[int, int, int]]:
    """Return the numbers of workers, of their slots and of their GPUs, for those online and for the others."""
    rows = session.execute(_WORKERS, {"fresh": fresh_seconds})
    return {online: (count, slots or 0, gpus or 0) for online, count, slots, gpus in rows}


def busy_slots(session: Session) -> int:
    """Return the number of slots in use or promised."""
    return int(session.execute(_BUSY).scalar_one())


def longest_silence(session: Session) -> float:
    """Return the seconds since the last news of the running run that has been silent for longest."""
    return session.execute(_SILENCE).scalar_one() or 0.0


def database_bytes(session: Session) -> int:
    """Return the size of the database on its disk."""
    return int(session.execute(_SIZE).scalar_one())


def connections(session: Session) -> tuple[int, int]:
    """Return the number of connections to the database server, and its maximum."""
    used, most = session.execute(_CONNECTIONS).one()
    return int(used), int(most)
