"""Streams API requests to the backend, so that the browser sees one origin; only headers are changed."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Iterable

import httpcore
import httpx
import orjson
from starlette.types import Message, Receive, Scope, Send

from bapo.api.base import ErrorBody
from bapo.client import POOL

LOG = logging.getLogger(__name__)

PROXIED_PATHS = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc", "/api"})
PROXIED_PREFIX = "/api/"
WAITING_PATH = "/api/v1/workers/deliveries"
"""Address at which workers wait for runs: like an event stream, such a request would delay this server's shutdown."""

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"trailers",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""Headers that belong to one connection (RFC 9110, 7.6.1)."""
FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"})

CONNECT_SECONDS = 10.0
MAX_BODY_BYTES = 64_000_000
"""Maximum size of a body, in bytes; the backend reads no more for any request."""
BODYLESS_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

Headers = list[tuple[bytes, bytes]]


def is_proxied(path: str) -> bool:
    """Return whether a path belongs to the backend."""
    return path in PROXIED_PATHS or path.startswith(PROXIED_PREFIX)


def leads_elsewhere(scope: Scope) -> bool:
    """Return whether a path has a part that is . or .., encoded or not: `/api/../metrics` is no address of the API."""
    parts = scope["path"].replace("\\", "/").split("/")
    return "." in parts or ".." in parts


class ApiProxy:
    """ASGI app that hands each request on, body and answer as streams; server-sent events pass as they come."""

    def __init__(self, backend_url: str, body_seconds: float = 60.0) -> None:
        """Create a proxy that forwards each body for at most `body_seconds` seconds."""
        self._body_seconds = body_seconds
        self._base = httpx.URL(backend_url)
        # A pool looks at each of its connections for each request, and those of streams stay: apart, they cost others
        # nothing.
        self._transport, self._waiting = (httpx.AsyncHTTPTransport(limits=POOL, trust_env=False) for _ in range(2))
        self._ending = asyncio.Event()

    def end_streams(self) -> None:
        """End the streams of events and the waiting that are open, and all later ones: the server is about to stop."""
        self._ending.set()

    async def close(self) -> None:
        """Close the connections to the backend."""
        await self._transport.aclose()
        await self._waiting.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Without a declared body there is none to read, and `receive` is free to report the disconnect.
        has_body = _has_body(scope)
        body_read = asyncio.Event()
        request = httpx.Request(
            scope["method"],
            self._url(scope),
            headers=_request_headers(scope),
            stream=_RequestBody(receive, body_read, self._body_seconds) if has_body else None,
            extensions={"timeout": {"connect": CONNECT_SECONDS, "read": None, "write": 60.0}},
        )
        if not has_body:
            body_read.set()
        outgoing = _Outgoing(send)
        waits = _asks_for_events(scope) or scope["path"] == WAITING_PATH
        tasks = [
            asyncio.create_task(self._answer(request, outgoing.send, self._waiting if waits else self._transport)),
            asyncio.create_task(_disconnected(receive, body_read)),
        ]
        if waits:
            tasks.append(asyncio.create_task(self._end(request, outgoing)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # A browser that leaves a stream takes the backend's side of it along.
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _end(self, request: httpx.Request, outgoing: _Outgoing) -> None:
        await self._ending.wait()
        if outgoing.has_begun:
            await outgoing.finish()
        else:
            await _refuse(outgoing.send, _request_id(request))

    def _url(self, scope: Scope) -> httpx.URL:
        target = scope.get("raw_path") or scope["path"].encode()
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        return self._base.copy_with(raw_path=target)

    async def _answer(self, request: httpx.Request, send: Send, transport: httpx.AsyncHTTPTransport) -> None:
        try:
            response = await transport.handle_async_request(request)
        except httpx.TransportError as error:
            LOG.warning("the backend does not answer", extra={"path": request.url.path, "cause": str(error)})
            await _refuse(send, _request_id(request))
            return
        try:
            headers = _without_hop_by_hop((name.lower(), value) for name, value in response.headers.raw)
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            await _relay(response, send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await response.aclose()


def _request_id(request: httpx.Request) -> str:
    return request.headers.get("X-Request-ID") or uuid.uuid4().hex


async def _relay(response: httpx.Response, send: Send) -> None:
    """Hand the body on as it comes.

    Raises httpx.TransportError where the backend breaks off, so that the server cuts the answer short instead of making
    it look complete; only a stream of events may end anywhere.
    """
    assert isinstance(response.stream, httpx.AsyncByteStream)
    try:
        async for chunk in response.stream:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
    except httpx.TransportError:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            raise


class _Outgoing:
    """Knows whether an answer has begun, so that it can be ended."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False
        self.has_begun = False

    async def send(self, message: Message) -> None:
        self.has_begun = True
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        """End the answer cleanly; do nothing if it has not begun."""
        if self._is_open:
            await self.send({"type": "http.response.body", "body": b"", "more_body": False})


class _RequestBody(httpx.AsyncByteStream):
    """The request's body as it arrives, as long as the backend may still read it.

    The backend answers before the end of a body that it refuses, but its answer is read after the body: what is too
    large or too slow is broken off, as if the backend had closed the connection, and the answer is there.
    """

    def __init__(self, receive: Receive, finished: asyncio.Event, seconds: float) -> None:
        self._receive = receive
        self._finished = finished
        self._seconds = seconds

    async def __aiter__(self) -> AsyncIterator[bytes]:
        deadline = asyncio.get_running_loop().time() + self._seconds
        received = 0
        more = True
        while more:
            try:
                async with asyncio.timeout_at(deadline):
                    message = await self._receive()
            except TimeoutError:
                raise httpcore.WriteError from None
            if message["type"] == "http.disconnect":
                raise httpx.WriteError("the client went away while it sent its request")
            more = message.get("more_body", False)
            body = message.get("body", b"")
            received += len(body)
            yield body
            if received > MAX_BODY_BYTES:
                raise httpcore.WriteError
        self._finished.set()


def _asks_for_events(scope: Scope) -> bool:
    asks = any(name == b"accept" and b"text/event-stream" in value for name, value in scope["headers"])
    return asks or scope["path"].endswith("/events")


def _has_body(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names or b"transfer-encoding" in names


def _request_headers(scope: Scope) -> Headers:
    headers = _without_hop_by_hop((name, value) for name, value in scope["headers"] if name not in FORWARDED)
    client = scope.get("client")
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    if client:
        headers.append((b"x-forwarded-for", str(client[0]).encode()))
    headers += [(b"x-forwarded-host", host), (b"x-forwarded-proto", scope.get("scheme", "http").encode())]
    names = {name for name, _ in headers}
    if b"content-length" not in names:
        if _has_body(scope):
            headers.append((b"transfer-encoding", b"chunked"))
        elif scope["method"] not in BODYLESS_METHODS:
            headers.append((b"content-length", b"0"))
    return headers


def _without_hop_by_hop(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    given = list(headers)
    named = {token.strip().lower() for name, value in given if name == b"connection" for token in value.split(b",")}
    return [(name, value) for name, value in given if name not in HOP_BY_HOP and name not in named]


async def _disconnected(receive: Receive, body_read: asyncio.Event) -> None:
    await body_read.wait()
    message: Message = {}
    while message.get("type") != "http.disconnect":
        message = await receive()


async def _refuse(send: Send, request_id: str) -> None:
    body = ErrorBody(
        code="backend_unreachable",
        remedy="the BAPO server does not answer: wait a moment and try again; if it stays away, look at its log",
        request_id=request_id,
    )
    content = orjson.dumps(body.model_dump(mode="json"))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 502, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})
