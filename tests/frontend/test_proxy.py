"""The proxy in front of a backend that echoes, streams, breaks off and is away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from bapo.api.base import ErrorBody
from frontend.proxy import is_proxied
from tests.frontend.serving import Relay, serving
from tests.services import wait_until


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
    with serving(upstream) as backend, serving(Relay(backend)) as proxy:
        yield proxy


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
    response = httpx.request("PATCH", f"{address}/api/a%2Fb%20c?x=1&y=%2F", content=b"hello")
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

    assert _said(httpx.post(f"{address}/api/echo", content=parts()))["body"] == "one two"


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_body_arrives_also_where_none_is_usual(address: str, method: str) -> None:
    assert _said(httpx.request(method, f"{address}/api/echo", content=b"hello"))["body"] == "hello"
    assert _said(httpx.request(method, f"{address}/api/echo", content=iter([b"hel", b"lo"])))["body"] == "hello"


def test_a_request_without_a_body_has_none(address: str) -> None:
    headers = dict(_said(httpx.post(f"{address}/api/echo"))["headers"])
    assert headers["content-length"] == "0"
    assert "content-length" not in dict(_said(httpx.get(f"{address}/api/echo"))["headers"])


def test_status_and_headers_of_the_answer_pass_but_those_of_one_hop_do_not(address: str) -> None:
    response = httpx.get(f"{address}/api/echo")
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
    arrived = _said(httpx.get(f"{address}/api/echo", headers=headers))["headers"]
    names = [name for name, _ in arrived]
    values = dict(arrived)
    assert not {"connection", "x-secret-hop", "te", "proxy-authorization", "forwarded"} & set(names)
    assert (values["x-forwarded-for"], values["x-forwarded-proto"]) == ("127.0.0.1", "http")
    assert names.count("x-forwarded-for") == 1
    assert (values["cookie"], values["authorization"]) == ("bapo_session=s", "Bearer t")
    assert values["host"] == address.removeprefix("http://")


def test_no_encoding_is_asked_for_that_the_client_did_not_ask_for(address: str) -> None:
    with httpx.Client() as client:
        client.headers = httpx.Headers()
        request = client.build_request("GET", f"{address}/api/echo")
        del request.headers["accept-encoding"]
        assert "accept-encoding" not in dict(_said(client.send(request))["headers"])


def test_events_pass_as_they_come_and_leaving_ends_the_stream_upstream(address: str, upstream: Upstream) -> None:
    before = upstream.streams_ended
    with httpx.stream("GET", f"{address}/api/stream") as response:
        # The upstream never ends this answer by itself.
        assert next(response.iter_raw()) == b"data: first\n\n"
        assert response.headers["content-type"] == "text/event-stream"
    wait_until(lambda: upstream.streams_ended == before + 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_answer_that_breaks_off_is_not_made_to_look_complete(address: str) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{address}/api/broken")


def test_a_backend_that_is_away_is_a_502_that_says_what_to_do() -> None:
    with serving(Relay("http://127.0.0.1:1")) as proxy:
        response = httpx.get(f"{proxy}/api/v1/runs")
    assert response.status_code == 502
    body = ErrorBody.model_validate_json(response.content)
    assert body.code == "backend_unreachable"
    assert "try again" in body.remedy
    assert body.request_id
