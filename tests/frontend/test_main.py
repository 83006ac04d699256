"""`python -m frontend serve` as a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from backend.kit import instruments
from bapo.client import BapoError, Client
from frontend.__main__ import main
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=60).is_success
    except httpx.TransportError:
        return False


def test_it_stops_at_once_and_silently_while_browsers_listen_and_workers_wait(backend_server: BackendServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "frontend", "serve", "--port", str(port)],
        env={**os.environ, "BAPO_BACKEND_URL": backend_server.url, "BAPO_PUBLIC_URL": url},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    worker = FakeWorker(backend_server, delivery="https")
    worker.client.close()
    worker.client = Client(url, token=backend_server.worker_token)
    pool = ThreadPoolExecutor(1)
    try:
        wait_until(lambda: _answers(f"{url}/healthz"))
        waiting = pool.submit(worker.next_runs)
        wait_until(lambda: instruments.REGISTRY.get_sample_value("bapo_http_requests_in_progress") == 1)
        headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Accept": "text/event-stream"}
        with httpx.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=60) as events:
            assert events.status_code == 200
            process.send_signal(signal.SIGTERM)
            # The stream ends cleanly, so that the browser begins to ask when the server is back.
            for _ in events.iter_raw():
                continue
        # It asks again when the server is back.
        with pytest.raises(BapoError) as refusal:
            waiting.result(60)
        assert refusal.value.is_passing
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
        pool.shutdown()
        worker.close()
    assert output == ""
    assert process.returncode in (0, -signal.SIGTERM)


def test_a_command_is_needed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["frontend"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "serve" in capsys.readouterr().err
