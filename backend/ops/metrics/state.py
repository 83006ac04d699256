"""Reads the state of the product from the database at each scrape."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from backend.kit.context import Context
from backend.ops.metrics import repository
from bapo import __version__
from bapo.api.runs import RunStatus

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
            statuses |= {(status,): count for status, count in repository.runs_by_status(session).items()}
            yield _gauge("bapo_runs", "Runs by state.", statuses, ["status"])
            waiting = dict.fromkeys(((label,) for label, _ in REASONS), 0) | {("promised",): 0, ("other",): 0}
            for reason, count in repository.waiting_by_reason(session).items():
                waiting[(reason_label(reason),)] += count
            yield _gauge("bapo_queue_runs", "Queued runs by reason.", waiting, ["reason"])
            yield _gauge("bapo_queue_longest_wait_seconds", "Longest wait.", {(): repository.longest_wait(session)}, [])
            silence = {(): repository.longest_silence(session)}
            yield _gauge("bapo_run_longest_silence_seconds", "Longest time without news of a running run.", silence, [])
            found = repository.workers(session, self._context.settings.fresh_seconds)
            online, offline = found.get(True, (0, 0, 0)), found.get(False, (0, 0, 0))
            states = {("online",): online[0], ("offline",): offline[0]}
            yield _gauge("bapo_workers", "Workers by whether they are online.", states, ["state"])
            yield _gauge("bapo_worker_slots", "Slots of online workers.", {(): online[1]}, [])
            yield _gauge("bapo_worker_slots_busy", "Slots in use.", {(): repository.busy_slots(session)}, [])
            yield _gauge("bapo_worker_gpus", "GPUs of online workers.", {(): online[2]}, [])
            used, most = repository.connections(session)
            yield _gauge("bapo_database_connections", "Connections to PostgreSQL.", {(): used}, [])
            yield _gauge("bapo_database_max_connections", "Connections that PostgreSQL allows.", {(): most}, [])
            yield _gauge("bapo_database_bytes", "Size of the database.", {(): repository.database_bytes(session)}, [])


def _gauge(name: str, text: str, values: Mapping[Any, float], labels: list[str]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family
