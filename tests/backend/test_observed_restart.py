"""A server that is killed and started again while a loop is observed, in processes of their own as in production."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from bapo.client import ApiError, Client
from bapo.run.journal import merged_records
from tests.support.services import NO_BROKER, wait_until

TRAINER = """
    import sys, time
    from pathlib import Path
    from bapo import observe
    folder = Path(sys.argv[1])
    with observe.run("through a restart", folder=folder) as run:
        for step in range(1, 201):
            run.step(step, groups=[observe.Group(f"p{step % 7}", [1, 0], ["a", "b"])])
            if step in (50, 150):
                folder.with_name(f"told-{step}").touch()
                while not folder.with_name(f"after-{step}").exists():
                    time.sleep(0.01)
"""


@contextmanager
def server_process(port: int, database_url: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`python -m backend`, killed in the end as by a machine that loses its power."""
    settings = {
        "BAPO_DATABASE_URL": database_url,
        "BAPO_BROKER_URL": NO_BROKER,
        "BAPO_RUNS_DIR": str(folder / "runs"),
        "BAPO_ADMIN_TOKEN_FILE": str(folder / "admin-token"),
        "BAPO_WORKER_TOKEN_FILE": str(folder / "worker-token"),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "backend", "serve", "--port", str(port)], env=environment(settings)
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def environment(settings: dict[str, str]) -> dict[str, str]:
    return {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}


def steps_at(client: Client) -> list[int]:
    """Steps that the server has of the run; none where it does not answer."""
    try:
        (found,) = [run for run in client.runs().items if run.name == "through a restart"]
        return [int(record["step"]) for record in client.records(found.id, type="step", limit=500).items]
    except (ApiError, httpx.TransportError, ValueError):
        return []


def test_no_record_is_lost_where_the_server_is_killed_and_started_again(postgres_url: str, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token_file = tmp_path / "server" / "admin-token"
    trainer = None
    held = ExitStack()
    try:
        with server_process(port, postgres_url, tmp_path / "server") as server:
            wait_until(lambda: token_file.exists() or server.poll() is not None)
            live = {"BAPO_SERVER": f"http://127.0.0.1:{port}", "BAPO_TOKEN": token_file.read_text().strip()}
            script = [sys.executable, "-c", textwrap.dedent(TRAINER), str(tmp_path / "run")]
            trainer = subprocess.Popen(script, env=environment(live))
            client = held.enter_context(Client(live["BAPO_SERVER"], token=live["BAPO_TOKEN"]))
            wait_until(lambda: steps_at(client) == list(range(1, 51)))
        # Nobody answers now; the loop goes on, and waits for nobody.
        (tmp_path / "after-50").touch()
        wait_until((tmp_path / "told-150").exists)
        with server_process(port, postgres_url, tmp_path / "server"):
            # The loop's end waits half a minute for a server that is away: less than a start may take.
            wait_until(lambda: len(steps_at(client)) == 150)
            (tmp_path / "after-150").touch()
            assert trainer.wait(120) == 0
            wait_until(lambda: len(steps_at(client)) == 200)
            assert steps_at(client) == list(range(1, 201))
    finally:
        if trainer is not None:
            trainer.kill()
            trainer.wait()
        held.close()
    recorded = [record.step for record in merged_records(tmp_path / "run") if record.type == "step"]
    assert recorded == list(range(1, 201))
