"""Prometheus counters of this process. Labels never hold a run, a user, an address or a name that a user chose."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from sqlalchemy import event
from sqlalchemy.orm import Session

REGISTRY = CollectorRegistry()

_LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

REQUESTS = Counter(
    "bapo_http_requests",
    "Requests served, by method, route and status.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
REQUEST_SECONDS = Histogram(
    "bapo_http_request_seconds",
    "Response time, except of event streams and of workers that wait for runs.",
    ["method", "route"],
    buckets=_LATENCIES,
    registry=REGISTRY,
)
REQUESTS_IN_PROGRESS = Gauge("bapo_http_requests_in_progress", "Requests in progress.", registry=REGISTRY)

INGEST_LINES = Counter("bapo_ingest_lines", "Lines of run folders stored, by file.", ["kind"], registry=REGISTRY)
INGEST_BYTES = Counter("bapo_ingest_bytes", "Bytes of run folders stored, by file.", ["kind"], registry=REGISTRY)
INGEST_POINTS = Counter("bapo_ingest_points", "Metric values stored.", registry=REGISTRY)

DELIVERIES = Counter(
    "bapo_deliveries",
    "Runs sent to workers, by the broker or over HTTPS; failed: the broker did not answer.",
    ["result"],
    registry=REGISTRY,
)
BROKER_UP = Gauge("bapo_broker_up", "Whether the broker accepted the last message.", registry=REGISTRY)

DISPATCHER_ROUNDS = Counter("bapo_dispatcher_rounds", "Rounds of the dispatcher.", ["result"], registry=REGISTRY)
DISPATCHER_SECONDS = Histogram(
    "bapo_dispatcher_round_seconds", "Time of a round of the dispatcher.", buckets=_LATENCIES, registry=REGISTRY
)
DISPATCHER_LEADER = Gauge("bapo_dispatcher_leader", "Whether this server is the dispatcher.", registry=REGISTRY)
RUNS_LOST = Counter("bapo_runs_lost", "Attempts given up because their worker sent no heartbeat.", registry=REGISTRY)

STREAMS = Gauge("bapo_event_streams", "Open event streams.", registry=REGISTRY)
STREAMS_CUT = Counter(
    "bapo_event_streams_cut", "Event streams closed because the reader fell behind.", registry=REGISTRY
)
EVENTS = Counter("bapo_events", "Events sent to open streams.", registry=REGISTRY)


def count_on_commit(session: Session, counter: Counter, amount: float) -> None:
    """Count what is stored once it is: what is rolled back is sent again, and would count twice."""
    event.listen(session, "after_commit", lambda _: counter.inc(amount), once=True)
