"""`/metrics` and `/healthz` of a worker: off without a port, and for this machine only without a token."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from bapo import __version__
from worker.gpu_readings import gpu_readings
from worker.health import STALE_AFTER_SECONDS

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerState:
    """State of a worker."""

    slots: int
    trainers: int
    gpus: int
    seconds_since_heartbeat: float | None
    """Seconds since the last answered heartbeat; `None` before the first."""
    upload_lag_bytes: int
    """Bytes of journals, samples and logs still to be uploaded."""


class WorkerCollector:
    """Collects the state of the worker and its GPUs at each scrape."""

    def __init__(self, state: Callable[[], WorkerState]) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges."""
        state = self._state()
        build = GaugeMetricFamily("bapo_worker_build_info", "Version of this worker.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        yield GaugeMetricFamily("bapo_worker_slots", "Runs trained at a time.", state.slots)
        yield GaugeMetricFamily("bapo_worker_trainers", "Running trainers.", state.trainers)
        yield GaugeMetricFamily("bapo_worker_gpus", "GPUs of this machine.", state.gpus)
        yield GaugeMetricFamily("bapo_worker_upload_lag_bytes", "Bytes not uploaded yet.", state.upload_lag_bytes)
        if state.seconds_since_heartbeat is not None:
            age = state.seconds_since_heartbeat
            yield GaugeMetricFamily(
                "bapo_worker_heartbeat_age_seconds", "Seconds since the server last answered a heartbeat.", age
            )
        if state.gpus:
            yield from _gpus()


def _gpus() -> Iterable[Metric]:
    families = [
        GaugeMetricFamily("bapo_worker_gpu_utilisation_percent", "Load of a GPU.", labels=["gpu"]),
        GaugeMetricFamily("bapo_worker_gpu_memory_used_bytes", "Memory in use of a GPU.", labels=["gpu"]),
        GaugeMetricFamily("bapo_worker_gpu_memory_total_bytes", "Memory of a GPU.", labels=["gpu"]),
        GaugeMetricFamily("bapo_worker_gpu_temperature_celsius", "Temperature of a GPU.", labels=["gpu"]),
    ]
    for index, *values in gpu_readings():
        for family, value in zip(families, values, strict=True):
            if value is not None:
                family.add_metric([str(index)], value)
    return families


def serve(host: str, port: int, token_file: Path | None, state: Callable[[], WorkerState]) -> ThreadingHTTPServer:
    """Serve in the background. Raises OSError for a port in use, ValueError for a public address without a token."""
    if token_file is None and not ipaddress.ip_address(host).is_loopback:
        raise ValueError("other machines may read the metrics only with a token: set BAPO_METRICS_TOKEN_FILE")
    token = None if token_file is None else token_file.read_text(encoding="utf-8").strip()
    registry = CollectorRegistry()
    registry.register(WorkerCollector(state))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/healthz":
                age = state().seconds_since_heartbeat
                is_well = age is not None and age <= STALE_AFTER_SECONDS
                self._answer(200 if is_well else 503, b"ok\n" if is_well else b"the server does not hear this worker\n")
            elif self.path != "/metrics":
                self._answer(404, b"/metrics or /healthz\n")
            elif token is not None and not self._has(token):
                self._answer(401, b"send the token as `Authorization: Bearer TOKEN`\n")
            else:
                self._answer(200, generate_latest(registry), CONTENT_TYPE_LATEST)

        def _has(self, expected: str) -> bool:
            scheme, _, given = self.headers.get("Authorization", "").partition(" ")
            return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), expected.encode())

        def _answer(self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            log.debug(format, *args)

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
