"""`python -m frontend serve` as a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import httpx

from tests.services import BackendServer, wait_until


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=60).is_success
    except httpx.TransportError:
        return False


def test_it_stops_at_once_and_silently_while_browsers_listen(backend_server: BackendServer) -> None:
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
    try:
        wait_until(lambda: _answers(f"{url}/healthz"), 60)
        headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Accept": "text/event-stream"}
        with httpx.stream("GET", f"{url}/api/v1/events", headers=headers, timeout=60) as events:
            assert events.status_code == 200
            process.send_signal(signal.SIGTERM)
            # The stream ends cleanly, so that the browser begins to ask when the server is back.
            for _ in events.iter_raw():
                continue
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert output == ""
    assert process.returncode in (0, -signal.SIGTERM)


def test_a_command_is_needed() -> None:
    result = subprocess.run([sys.executable, "-m", "frontend"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "serve" in result.stderr
