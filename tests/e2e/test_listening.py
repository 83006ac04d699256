"""`bapo up --listen`: other machines are let in only where they are named, and a worker joins over the network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from bapo.api.runs import RunStatus
from bapo.client import Client
from tests.support.command_line import run_here
from tests.support.ports import hold_port
from tests.support.stack import PATIENCE_SECONDS, Stack, ended, submit, wait_for

pytestmark = pytest.mark.e2e
ELSEWHERE = "127.0.0.2"
"""Another address, as another machine would use; Linux has all of 127/8."""


def start(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    with hold_port() as held:
        port = str(held.getsockname()[1])
        return run_here("up", "--data", data, "--no-browser", "--port", port, *arguments, env=environment)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--listen", "0.0.0.0"), "--public-url"),  # noqa: S104 - it is refused
        (("--listen", "203.0.113.9"), "cannot be used"),
        (("--listen", "no such host"), "is not an address of this machine"),
    ],
)
def test_what_would_let_nobody_or_everybody_in_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = start(tmp_path / "data", *arguments)
    assert result.returncode == 1
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr


def test_a_wrong_setting_ends_the_start_by_name(tmp_path: Path) -> None:
    result = start(tmp_path / "data", "--no-demo", BAPO_LEASE_SECONDS="soon")
    assert result.returncode == 1
    assert "BAPO_LEASE_SECONDS = 'soon': must be a number" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_worker_on_another_address_joins_and_trains(make_stack: Callable[[], Stack], tmp_path: Path) -> None:
    stack = make_stack()
    stack.url = f"http://{ELSEWHERE}:{stack.port}"
    stack.start("--no-demo", "--listen", ELSEWHERE)
    assert "NOT ENCRYPTED" in stack.output
    assert "Host" not in stack.output

    # Redis has no port at all, and the worker needs none.
    assert stack.service("redis").net_connections("tcp") == []
    assert httpx.get(f"{stack.url}/healthz", headers={"Host": "evil.example"}, timeout=60).status_code == 421

    # The worker of this machine makes room for the other one.
    local, local_name = stack.service("worker"), socket.gethostname()
    folder = tmp_path / "elsewhere"
    command = [sys.executable, "-m", "bapo", "worker", "--server", stack.url, "--name", "elsewhere"]
    command += ["--token-file", str(stack.folder / "worker-token"), "--folder", str(folder / "worker")]
    command += ["--runs-dir", str(folder / "runs"), "--slots", "2"]
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE) as joined:
        try:
            with stack.client() as client:
                wait_for(lambda: any(worker.name == "elsewhere" for worker in client.workers().items))
                local.send_signal(signal.SIGSTOP)
                wait_for(lambda: [worker.name for worker in client.workers().items if worker.online] == ["elsewhere"])
                run_id = submit(client, "far away", **{"training.steps": 4})
                found = ended(client, run_id)
                assert (found.status, found.worker) == (RunStatus.SUCCEEDED, "elsewhere"), found.status_reason
                deliveries = {worker.name: worker.delivery for worker in client.workers().items}
                assert deliveries == {local_name: "broker", "elsewhere": "https"}
            assert (folder / "runs" / run_id / "attempt-1" / "records.jsonl").exists()
            assert not (stack.folder / "runs" / run_id).exists()
        finally:
            local.send_signal(signal.SIGCONT)
            joined.send_signal(signal.SIGTERM)
            assert joined.wait(PATIENCE_SECONDS) == 0

    report = doctor(stack.url, stack.folder)
    grades = {each["check"]: each["grade"] for each in report["findings"]}
    assert grades["server"] == grades["event stream"] == grades["database schema"] == grades["broker"] == "ok"
    assert grades["encryption"] == "warning" or ELSEWHERE.startswith("127.")
    assert "failure" not in grades.values(), report
    assert stack.stop() == 0


def doctor(url: str, data: Path) -> dict[str, list[dict[str, str]]]:
    result = run_here(
        *("doctor", "--server", url, "--token-file", data / "admin-token", "--data", data, "--json"),
        env={"COLUMNS": "1000"},
    )
    found: dict[str, list[dict[str, str]]] = json.loads(result.stdout)
    assert result.returncode == int(any(each["grade"] == "failure" for each in found["findings"]))
    return found


def test_the_doctor_says_what_is_wrong_without_a_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "admin-token").write_text("x" * 43)
    (data / "admin-token").chmod(0o644)
    # Nobody listens on the port.
    with hold_port() as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        found = {each["check"]: each for each in doctor(url, data)["findings"]}
    assert found["server"]["grade"] == "failure"
    assert "is right and that it is up" in found["server"]["remedy"]
    assert found["secret files"]["grade"] == "failure"
    assert found["Python"]["grade"] == "ok"
    assert found["PyTorch"]["grade"] == "ok"
    result = run_here("doctor", "--local", "--data", tmp_path / "none")
    assert result.returncode == 0
    assert "0 failures" in result.stdout


def test_the_doctor_notices_what_is_no_server_of_ours(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as other:
        assert other.stdout is not None
        line = other.stdout.readline()
        port = line.split("port ")[1].split()[0]
        with Client(f"http://127.0.0.1:{port}"):
            token = tmp_path / "admin-token"
            token.write_text("y" * 43)
            token.chmod(0o600)
            found = doctor(f"http://127.0.0.1:{port}", tmp_path)
        other.terminate()
    server = next(each for each in found["findings"] if each["check"] == "server")
    assert server["grade"] == "failure"
    assert "not the answer of a BAPO server" in server["message"]
