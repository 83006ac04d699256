"""Proxies of the environment: which requests take one, and what is said of one that fails."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bapo.client import ApiError, AsyncClient, BapoError, Client, InvalidRequestError, UnreachableError
from bapo.client.proxies import Proxy, bypasses, proxy_for

CLOSED = "127.0.0.1:9"
"""Where nothing listens."""
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in CERTIFICATES:
            monkeypatch.delenv(name)


@contextmanager
def answering(status: int, content_type: str, body: bytes) -> Iterator[str]:
    """Host and port of a server that answers everything so."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failure(url: str, token: str | None = None) -> BapoError:
    with pytest.raises(BapoError) as raised, Client(url, token=token) as client:
        client.me()
    return raised.value


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://127.0.0.1:1080"), ("HTTP_PROXY", f"http://{CLOSED}"), ("http_proxy", "nonsense://["),
     ("NO_PROXY", "[::1]"), ("SSL_CERT_FILE", "/no/such/file")],
)  # fmt: skip
def test_a_server_on_this_machine_is_asked_whatever_proxies_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with answering(200, "application/json", b'{"items": []}') as address, Client(f"http://{address}", "t") as client:
        assert client.recipes().items == []


def test_a_proxy_that_needs_a_package_is_named_with_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    monkeypatch.setattr("bapo.client.proxies.find_spec", lambda _: None)
    found = failure("http://bapo.example.org")
    assert isinstance(found, UnreachableError)
    assert found.is_lasting
    assert found.cause == "ALL_PROXY = socks5://127.0.0.1:1080 needs the package socksio"
    assert found.remedy == "install it by `pip install 'httpx[socks]'`, or set NO_PROXY=bapo.example.org to do without"


@pytest.mark.parametrize("address", ["http://[::1", "ftp://proxy.example.org", "http://proxy:port", "socks4://p:1"])
def test_what_is_no_proxy_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("https_proxy", address)
    assert f"https_proxy = {address} is not the address of a proxy" in str(failure("https://bapo.example.org"))


def test_a_proxy_that_does_not_answer_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://user:secret@{CLOSED}")
    said = str(failure("http://bapo.example.org"))
    assert f"through HTTP_PROXY = http://…@{CLOSED}: " in said
    assert "set NO_PROXY=bapo.example.org" in said
    assert "secret" not in said


def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(403, "text/html", b"blocked") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        found = failure("http://bapo.example.org")
        assert isinstance(found, ApiError)
        assert found.status == 403
        assert f"(HTTP_PROXY = http://{proxy})" in found.remedy


def test_awaitable_clients_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with AsyncClient("http://bapo.example.org", token="t") as client:
            await client.me()

    monkeypatch.setenv("HTTP_PROXY", f"http://{CLOSED}")
    with pytest.raises(UnreachableError, match="through HTTP_PROXY"):
        asyncio.run(ask())
    monkeypatch.setenv("HTTP_PROXY", "ftp://x")
    with pytest.raises(UnreachableError, match="HTTP_PROXY = ftp://x is not the address of a proxy"):
        asyncio.run(ask())


@pytest.mark.parametrize(
    ("no_proxy", "host"),
    [
        ("*", "bapo.example.org"),
        ("bapo.example.org", "bapo.example.org"),
        ("example.org", "bapo.example.org"),
        (".example.org", "bapo.example.org"),
        ("*.example.org", "bapo.example.org"),
        ("localhost, BAPO.Example.org", "bapo.example.org"),
        ("bapo.example.org:8000", "bapo.example.org"),
        ("10.0.0.0/8", "10.1.2.3"),
        ("fe80::1", "fe80::1"),
        ("[fe80::1]", "fe80::1"),
        ("[fe80::1]:8000", "fe80::1"),
    ],
)
def test_no_proxy_lists_a_host_in_each_usual_way(no_proxy: str, host: str) -> None:
    assert bypasses(no_proxy, host, 8000)


@pytest.mark.parametrize(
    "no_proxy", ["", ",", "[::1]", "ample.org", "bapo.example.org:8001", "10.0.0.0/8", "[", "192.168.0.0/99", "*.", ":"]
)
def test_no_proxy_concerns_no_other_host(no_proxy: str) -> None:
    assert not bypasses(no_proxy, "bapo.example.org", 8000)


def test_a_proxy_for_the_kind_of_address_comes_before_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://all:1")
    monkeypatch.setenv("HTTPS_PROXY", "secure:2")
    assert proxy_for("https://bapo.example.org") == Proxy("HTTPS_PROXY", "http://secure:2")
    assert proxy_for("http://bapo.example.org") == Proxy("ALL_PROXY", "http://all:1")
    assert proxy_for("http://127.0.0.1:8000") is proxy_for("https://[::1]") is proxy_for("http://localhost") is None


@pytest.mark.parametrize("address", ["http://[::1", "ftp://x", "http://h:99999", "http://a b", "x", "http://"])
def test_what_is_no_address_is_refused_with_one_that_is(address: str) -> None:
    found = failure(address)
    assert isinstance(found, InvalidRequestError)
    assert (found.field, found.value) == ("server", address)
    assert "https://bapo.example.org" in found.remedy


@pytest.mark.parametrize("token", ["täken", "a\nb", "a b", "\x00"])
def test_what_is_no_token_is_refused_without_showing_it(token: str) -> None:
    found = failure("http://127.0.0.1:9", token)
    assert isinstance(found, InvalidRequestError)
    assert found.field == "token"
    assert token not in str(found)


def test_certificates_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    assert "SSL_CERT_FILE = /no/such/file cannot be used" in str(failure("https://bapo.example.org"))


def test_an_answer_of_something_else_says_so() -> None:
    with answering(200, "text/html; charset=utf-8", b"<p>Log in to the Wi-Fi</p>") as address:
        found = failure(f"http://{address}")
        assert isinstance(found, ApiError)
        assert found.code == "unreadable_answer"
        assert "answered with text/html" in found.remedy
