"""The client where the server is not what it should be."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from bapo.client import ApiError, Client


class Proxy(BaseHTTPRequestHandler):
    """A proxy whose server is away."""

    def do_GET(self) -> None:
        self.send_response(502, "Bad Gateway")
        self.end_headers()
        self.wfile.write(b"<html>nginx</html>")

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def proxy() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_answer_that_is_not_the_servers_is_named(proxy: str) -> None:
    with Client(proxy) as client, pytest.raises(ApiError, match="502 Bad Gateway: check that the address") as refusal:
        client.me()
    assert (refusal.value.status, refusal.value.body.code) == (502, "http_502")


def test_no_answer_is_a_transport_error() -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(httpx.TransportError):
        client.me()


def test_an_error_says_field_value_and_remedy(admin: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.runs(sort="nonsense")
    text = str(refusal.value)
    assert text.startswith("sort = 'nonsense': there is no such column: use one of")
    assert "HTTP 422 invalid_request, request " in text


def test_an_error_can_be_passed_between_processes(admin: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.run("nothing")
    again = pickle.loads(pickle.dumps(refusal.value))  # noqa: S301
    assert (again.status, again.body) == (refusal.value.status, refusal.value.body)
