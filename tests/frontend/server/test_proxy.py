"""The proxy in front of a backend that echoes, streams, breaks off and is away."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from bapo.api.base import ErrorBody
from frontend.request.session import Api
from frontend.server import proxy
from frontend.server.proxy import is_proxied
from tests.support.services import wait_until
from tests.support.serving import Relay, serving


@dataclass
class Upstream:
    """A backend that tells what it was asked."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    streams_ended: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        match scope["path"]:
            case "/api/stream":
                await self._stream(receive, send)
            case "/api/refused":
                await send({"type": "http.response.start", "status": 413, "headers": []})
                await send({"type": "http.response.body", "body": b"refused"})
            case "/api/broken":
                headers = [(b"content-type", b"application/json")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": b'{"half":', "more_body": True})
                raise RuntimeError("this upstream breaks off")
            case _:
                await self._echo(scope, receive, send)

    async def _echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        said = {
            "method": scope["method"],
            "raw_path": scope["raw_path"].decode(),
            "query": scope["query_string"].decode(),
            "headers": [[name.decode(), value.decode()] for name, value in scope["headers"]],
            "body": body.decode(),
        }
        headers = [
            (b"content-type", b"application/json"),
            (b"set-cookie", b"a=1; HttpOnly"),
            (b"set-cookie", b"b=2"),
            (b"connection", b"X-Private"),
            (b"x-private", b"for this hop"),
            (b"x-request-id", b"r1"),
        ]
        await send({"type": "http.response.start", "status": 207, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(said).encode()})

    async def _stream(self, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"data: first\n\n", "more_body": True})
        try:
            while (await receive())["type"] != "http.disconnect":
                continue
        finally:
            self.streams_ended += 1


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture(scope="module")
def address(upstream: Upstream) -> Iterator[str]:
    """The proxy in front of the upstream."""
    with serving(upstream) as backend, serving(Relay(backend)) as url:
        yield url


def _said(response: httpx.Response) -> dict[str, Any]:
    said: dict[str, Any] = response.json()
    return said


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/runs", True),
        ("/api", True),
        ("/healthz", True),
        ("/openapi.json", True),
        ("/docs", True),
        ("/apiary", False),
        ("/runs", False),
        ("/healthz/x", False),
        ("/", False),
    ],
)
def test_what_belongs_to_the_backend(path: str, expected: bool) -> None:
    assert is_proxied(path) is expected


def test_method_path_query_and_body_arrive_unchanged(address: str) -> None:
    response = httpx.request("PATCH", f"{address}/api/a%2Fb%20c?x=1&y=%2F", content=b"hello", timeout=60)
    said = _said(response)
    assert (said["method"], said["raw_path"], said["query"], said["body"]) == (
        "PATCH",
        "/api/a%2Fb%20c",
        "x=1&y=%2F",
        "hello",
    )


def test_a_body_of_unknown_length_is_streamed(address: str) -> None:
    def parts() -> Iterator[bytes]:
        yield b"one "
        yield b"two"

    assert _said(httpx.post(f"{address}/api/echo", content=parts(), timeout=60))["body"] == "one two"


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_body_arrives_also_where_none_is_usual(address: str, method: str) -> None:
    assert _said(httpx.request(method, f"{address}/api/echo", content=b"hello", timeout=60))["body"] == "hello"
    assert (
        _said(httpx.request(method, f"{address}/api/echo", content=iter([b"hel", b"lo"]), timeout=60))["body"]
        == "hello"
    )


@pytest.fixture(scope="module")
def impatient(upstream: Upstream) -> Iterator[httpx.URL]:
    """A proxy that hands a body on for half a second."""
    with serving(upstream) as backend, serving(Relay(backend, body_seconds=0.5)) as url:
        yield httpx.URL(url)


@pytest.mark.parametrize(
    "start", [b"POST /api/refused HTTP/1.1\r\nContent-Length: 1000", b"GET /api/refused HTTP/1.1\r\nContent-Length: 9"]
)
def test_the_answer_to_a_body_that_does_not_come_is_not_waited_for(impatient: httpx.URL, start: bytes) -> None:
    with socket.create_connection((impatient.host, impatient.port or 80), timeout=60) as connection:
        connection.sendall(start + b"\r\nHost: localhost\r\n\r\n{")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_the_answer_to_a_body_without_an_end_comes_before_its_end(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MAX_BODY_BYTES", 1_000_000)
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port or 80), timeout=60) as connection:
        connection.sendall(b"POST /api/refused HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        sent = 0
        while not select.select([connection], [], [], 0)[0]:
            connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            sent += 65_536
            assert sent < 50_000_000, "what lies in the kernel's buffers was sent too"
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_a_request_without_a_body_has_none(address: str) -> None:
    headers = dict(_said(httpx.post(f"{address}/api/echo", timeout=60))["headers"])
    assert headers["content-length"] == "0"
    assert "content-length" not in dict(_said(httpx.get(f"{address}/api/echo", timeout=60))["headers"])


def test_status_and_headers_of_the_answer_pass_but_those_of_one_hop_do_not(address: str) -> None:
    response = httpx.get(f"{address}/api/echo", timeout=60)
    assert response.status_code == 207
    assert response.headers.get_list("set-cookie") == ["a=1; HttpOnly", "b=2"]
    assert response.headers["x-request-id"] == "r1"
    assert "x-private" not in response.headers


def test_headers_of_one_hop_and_forged_forwarding_do_not_reach_the_backend(address: str) -> None:
    headers = {
        "Connection": "close, X-Secret-Hop",
        "X-Secret-Hop": "1",
        "TE": "trailers",
        "Proxy-Authorization": "Basic eA==",
        "X-Forwarded-For": "6.6.6.6",
        "X-Forwarded-Proto": "https",
        "Forwarded": "for=6.6.6.6",
        "Cookie": "bapo_session=s",
        "Authorization": "Bearer t",
    }
    arrived = _said(httpx.get(f"{address}/api/echo", headers=headers, timeout=60))["headers"]
    names = [name for name, _ in arrived]
    values = dict(arrived)
    assert not {"connection", "x-secret-hop", "te", "proxy-authorization", "forwarded"} & set(names)
    assert (values["x-forwarded-for"], values["x-forwarded-proto"]) == ("127.0.0.1", "http")
    assert names.count("x-forwarded-for") == 1
    assert (values["cookie"], values["authorization"]) == ("bapo_session=s", "Bearer t")
    assert values["host"] == address.removeprefix("http://")


def test_no_encoding_is_asked_for_that_the_client_did_not_ask_for(address: str) -> None:
    with httpx.Client(timeout=60) as client:
        client.headers = httpx.Headers()
        request = client.build_request("GET", f"{address}/api/echo")
        del request.headers["accept-encoding"]
        assert "accept-encoding" not in dict(_said(client.send(request))["headers"])


def test_events_pass_as_they_come_and_leaving_ends_the_stream_upstream(address: str, upstream: Upstream) -> None:
    before = upstream.streams_ended
    with httpx.stream("GET", f"{address}/api/stream", timeout=60) as response:
        # The upstream never ends this answer by itself.
        assert next(response.iter_raw()) == b"data: first\n\n"
        assert response.headers["content-type"] == "text/event-stream"
    wait_until(lambda: upstream.streams_ended == before + 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_answer_that_breaks_off_is_not_made_to_look_complete(address: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{address}/api/broken", timeout=60)


def test_a_backend_that_is_away_is_a_502_that_says_what_to_do() -> None:
    with serving(Relay("http://127.0.0.1:1")) as proxy:
        response = httpx.get(f"{proxy}/api/v1/runs", timeout=60)
    assert response.status_code == 502
    body = ErrorBody.model_validate_json(response.content)
    assert body.code == "backend_unreachable"
    assert "try again" in body.remedy
    assert body.request_id


class Gathering:
    """A backend that answers nobody before `expected` requests have come in."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self._complete = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return
        self._missing -= 1
        if self._missing == 0:
            self._complete.set()
        await self._complete.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def test_no_request_waits_for_another_one_in_a_pool() -> None:
    # A pool is full at 100 connections unless told otherwise.
    num_requests = 101

    async def ask(url: str) -> list[int]:
        async with Api(url, 60.0).http as http:
            answers = await asyncio.gather(*(http.get("/x") for _ in range(num_requests)))
        return [answer.status_code for answer in answers]

    with serving(Gathering(num_requests)) as backend, serving(Relay(backend)) as proxy:
        assert asyncio.run(ask(proxy)) == [204] * num_requests
