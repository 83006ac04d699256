"""A server that is killed and started again while a loop is observed, in processes of their own as in production."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from bapo.client import ApiError, Client
from bapo.run.journal import merged_records
from tests.support.observed_loops import Loop
from tests.support.ports import free_port
from tests.support.services import NO_BROKER, TIMEOUT_SECONDS, running_backend, wait_until


@contextmanager
def server_process(port: int, database_url: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python -m backend serve`, and kill it in the end as a machine does that loses its power."""
    settings = {
        "BAPO_DATABASE_URL": database_url,
        "BAPO_BROKER_URL": NO_BROKER,
        "BAPO_RUNS_DIR": str(folder / "runs"),
        "BAPO_ADMIN_TOKEN_FILE": str(folder / "admin-token"),
        "BAPO_WORKER_TOKEN_FILE": str(folder / "worker-token"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "backend", "serve", "--port", str(port)], env={**os.environ, **settings}
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def steps_at(client: Client) -> list[int]:
    """Return the steps that the server has of the run; none where it does not answer."""
    try:
        (found,) = [run for run in client.runs().items if run.name == "through a restart"]
        return [int(record["step"]) for record in client.records(found.id, type="step", limit=500).items]
    except (ApiError, httpx.TransportError, ValueError):
        return []


def test_no_record_is_lost_where_the_server_is_killed_and_started_again(postgres_url: str, tmp_path: Path) -> None:
    port, token_file = free_port(), tmp_path / "admin-token"
    with server_process(port, postgres_url, tmp_path) as server:
        wait_until(lambda: token_file.exists() or server.poll() is not None)
        login = {"server": f"http://127.0.0.1:{port}", "token": token_file.read_text().strip()}
        loop = Loop(tmp_path / "run", 1, 200, pauses=(50, 150), given={"name": "through a restart", **login})
        trainer = loop.start()
        with Client(login["server"], token=login["token"], timeout_seconds=TIMEOUT_SECONDS) as client:
            wait_until(lambda: steps_at(client) == list(range(1, 51)))
    try:
        # No server answers now, and the loop waits for none.
        loop.release(50)
        wait_until(lambda: loop.has_paused(150))
        with running_backend(postgres_url, tmp_path, port=port) as again, again.client() as client:
            # The loop's end waits half a minute for a server that is away: less than a start may take.
            wait_until(lambda: len(steps_at(client)) == 150)
            loop.release(150)
            wait_until(lambda: trainer.exitcode is not None)
            assert trainer.exitcode == 0
            assert steps_at(client) == list(range(1, 201))
    finally:
        trainer.kill()
        trainer.join()
    recorded = [record.step for record in merged_records(loop.folder) if record.type == "step"]
    assert recorded == list(range(1, 201))
