"""The server's API for Python: `Client` and `AsyncClient` share one table of calls, `bapo.calls`.

Everything that the web pages can do, a script can do with it:

    with Client("http://127.0.0.1:8000", token=...) as client:
        run = client.create_run(RunCreate(name="first", recipe="countdown-demo"))
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Self, TypeVar

import httpx
import orjson
from pydantic import ValidationError

from bapo.api import ErrorBody, Login, StreamEvent, UserInfo
from bapo.calls import Call, Calls, post, run_path

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
STREAM_SILENCE_SECONDS = 60.0
"""The server sends a comment every 15 s; a stream that is silent for longer is broken."""
SESSION_COOKIE = "bapo_session"


class ApiError(Exception):
    """The server refused a request; `body` says why and what to do."""

    def __init__(self, status: int, body: ErrorBody) -> None:
        self.status = status
        self.body = body
        given = f"{body.field} = {body.value!r}: " if body.field else ""
        super().__init__(f"{given}{body.remedy} (HTTP {status} {body.code}, request {body.request_id})")

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, ErrorBody]]:
        return ApiError, (self.status, self.body)


def _headers(token: str | None, cookie: str | None) -> dict[str, str]:
    # A session's secret is as good as a bearer token; sent so, it needs no Origin.
    secret = token or cookie
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def _base(base_url: str) -> str:
    return base_url.rstrip("/") + "/api/v1"


def _no_cookies() -> CookieJar:
    # A pool of connections may serve several users: none may get another's session.
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def shared_http(base_url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> httpx.AsyncClient:
    """A pool of connections for several `AsyncClient`s; close it with `await http.aclose()`."""
    return httpx.AsyncClient(base_url=_base(base_url), timeout=timeout_seconds, cookies=_no_cookies())


def _arguments(call: Call[Any]) -> dict[str, Any]:
    content = None if call.body is None else call.body.model_dump_json(exclude_unset=True).encode()
    headers = dict(call.headers) | ({} if content is None else {"Content-Type": "application/json"})
    return {"params": call.params, "content": content, "headers": headers}


def _read(call: Call[T], response: httpx.Response) -> T:
    if response.is_success:
        return call.parse(response.content)
    raise error_of(response)


def error_of(response: httpx.Response) -> ApiError:
    """The error that a response with a status of at least 300 stands for, also where a proxy answered."""
    try:
        body = ErrorBody.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        body = ErrorBody(
            code=f"http_{response.status_code}",
            remedy=f"{response.request.url.host} answered {response.status_code} {response.reason_phrase}: "
            "check that the address is that of a BAPO server and that the server is up",
            request_id=response.headers.get("X-Request-ID", "none"),
        )
    return ApiError(response.status_code, body)


class _StreamReader:
    """Puts the lines of a text/event-stream together."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> StreamEvent | None:
        """The event that this line completes, if any."""
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        content = {"id": int(fields["id"]), "event": fields["event"], "data": orjson.loads(fields["data"])}
        return StreamEvent.model_validate(content, extra="ignore")


def _stream(run_id: str | None, last_event_id: int | None) -> dict[str, Any]:
    headers = {"Accept": "text/event-stream"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = str(last_event_id)
    return {
        "method": "GET",
        "url": "/events" if run_id is None else run_path(run_id, "events"),
        "headers": headers,
        "timeout": httpx.Timeout(TIMEOUT_SECONDS, read=STREAM_SILENCE_SECONDS),
    }


class Client(Calls):
    """Blocking client. Network failures raise httpx.TransportError, refusals ApiError."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        cookie: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self.http = httpx.Client(
            base_url=_base(base_url),
            headers=_headers(token, cookie),
            timeout=timeout_seconds,
            cookies=_no_cookies(),
        )

    def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        return _read(call, self.http.request(call.method, call.path, **_arguments(call)))

    def login(self, body: Login) -> tuple[UserInfo, str]:
        """Log in; also the session's secret, for the browser's cookie and for `Client(cookie=...)`."""
        call = post("/auth/login", UserInfo, body)
        response = self.http.request(call.method, call.path, **_arguments(call))
        return _read(call, response), response.cookies[SESSION_COOKIE]

    @contextmanager
    def events(self, run_id: str | None = None, last_event_id: int | None = None) -> Iterator[Iterator[StreamEvent]]:
        """The events of one run, or of all; ends when the server closes the stream."""
        with self.http.stream(**_stream(run_id, last_event_id)) as response:
            if not response.is_success:
                response.read()
                raise error_of(response)
            reader = _StreamReader()
            yield (event for line in response.iter_lines() if (event := reader.feed(line)) is not None)

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Calls):
    """The same calls, awaitable."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        cookie: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        """Give `http`, made by `shared_http`, to share one pool of connections between callers."""
        self._own_http = http is None
        self._auth = _headers(token, cookie)
        self.http = http or shared_http(base_url, timeout_seconds)

    async def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        arguments = _arguments(call)
        arguments["headers"] |= self._auth
        return _read(call, await self.http.request(call.method, call.path, **arguments))

    async def login(self, body: Login) -> tuple[UserInfo, str]:
        """Log in; also the session's secret, for the browser's cookie and for `AsyncClient(cookie=...)`."""
        call = post("/auth/login", UserInfo, body)
        response = await self.http.request(call.method, call.path, **_arguments(call))
        return _read(call, response), response.cookies[SESSION_COOKIE]

    @asynccontextmanager
    async def events(
        self, run_id: str | None = None, last_event_id: int | None = None
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """The events of one run, or of all; ends when the server closes the stream."""
        arguments = _stream(run_id, last_event_id)
        arguments["headers"] |= self._auth
        async with self.http.stream(**arguments) as response:
            if not response.is_success:
                await response.aread()
                raise error_of(response)
            yield _events(response)

    async def close(self) -> None:
        """Close the connections that are its own."""
        if self._own_http:
            await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _events(response: httpx.Response) -> AsyncIterator[StreamEvent]:
    reader = _StreamReader()
    async for line in response.aiter_lines():
        if (event := reader.feed(line)) is not None:
            yield event
