"""The server's API for Python: `Client` and `AsyncClient` share one table of calls, `bapo.client.calls`.

Everything that the web pages can do, a script can do with it:

    with Client.from_environment() as client:
        run = client.create_run(RunCreate(name="first", recipe="countdown-demo"))
        run = client.wait(run.id)

Every failure is a `BapoError`: `ApiError` where the server refuses, `UnreachableError` where it does not answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, ParamSpec, Self, TypeVar

import httpx

from bapo.api.accounts import Login, UserInfo
from bapo.api.base import Page
from bapo.api.events import StreamEvent
from bapo.api.runs import RunDetail
from bapo.client.calls import Call, Calls, post, run_path
from bapo.client.errors import BapoError, UnreachableError, error_of
from bapo.client.event_stream import (
    PATIENCE_SECONDS,
    Course,
    StreamReader,
    Until,
    concerns,
    is_reached,
    is_sign_of_life,
)
from bapo.client.retries import Retries
from bapo.client.servers import find_server

T = TypeVar("T")
P = ParamSpec("P")
PageT = TypeVar("PageT", bound=Page)

TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 5.0
STREAM_SILENCE_SECONDS = 60.0
"""The server sends a comment every 15 s; a stream that is silent for longer is broken."""
SCRIPT_RETRIES = 4
"""How often `from_environment` lets a request be sent again: over about 8 seconds."""
SESSION_COOKIE = "bapo_session"

OnCut = Callable[[BapoError | None], None]
"""Told of each cut of a stream that is followed; None where the server ended the stream itself."""


def _headers(token: str | None, cookie: str | None) -> dict[str, str]:
    # A session's secret is as good as a bearer token; sent so, it needs no Origin.
    secret = token or cookie
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def _base(base_url: str) -> str:
    return base_url.rstrip("/") + "/api/v1"


def _no_cookies() -> CookieJar:
    # A pool of connections may serve several users: none may get another's session.
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))


def shared_http(base_url: str, timeout_seconds: float = TIMEOUT_SECONDS) -> httpx.AsyncClient:
    """A pool of connections for several `AsyncClient`s; close it with `await http.aclose()`."""
    return httpx.AsyncClient(base_url=_base(base_url), timeout=_timeout(timeout_seconds), cookies=_no_cookies())


def _arguments(call: Call[Any]) -> dict[str, Any]:
    headers = dict(call.headers)
    content = call.content
    if call.body is not None:
        content = call.body.model_dump_json(exclude_unset=True).encode()
        headers["Content-Type"] = "application/json"
    elif content is not None:
        headers["Content-Type"] = "application/octet-stream"
    return {"params": call.params, "content": content, "headers": headers}


def _read(call: Call[T], response: httpx.Response) -> T:
    if response.is_success:
        return call.parse(response.content)
    raise error_of(response)


def _unreachable(http: httpx.Client | httpx.AsyncClient, error: httpx.TransportError) -> UnreachableError:
    address = str(http.base_url).rstrip("/").removesuffix("/api/v1")
    return UnreachableError(address, str(error) or type(error).__name__)


def _stream(run_id: str | None, last_event_id: int | None, silence_seconds: float) -> dict[str, Any]:
    headers = {"Accept": "text/event-stream"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = str(last_event_id)
    return {
        "method": "GET",
        "url": "/events" if run_id is None else run_path(run_id, "events"),
        "headers": headers,
        "timeout": httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS, read=silence_seconds),
    }


class _Deadline:
    """When a wait is given up."""

    def __init__(self, what: str, seconds: float | None) -> None:
        self._what = what
        self._seconds = seconds
        self._at = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        if self._at is not None and time.monotonic() >= self._at:
            raise TimeoutError(f"{self._what} within {self._seconds:g} s")

    def limit(self, seconds: float) -> float:
        return seconds if self._at is None else max(0.001, min(seconds, self._at - time.monotonic()))


class Client(Calls):
    """Blocking client. Raises BapoError: UnreachableError where no answer comes, ApiError where the server refuses."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        cookie: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = 0,
    ) -> None:
        """`retries`: how often a request that cannot happen twice is sent again while the server is away."""
        self.retries = Retries(retries)
        self._base_url = base_url
        self._secret = token or cookie
        self.http = httpx.Client(
            base_url=_base(base_url),
            headers=_headers(token, cookie),
            timeout=_timeout(timeout_seconds),
            cookies=_no_cookies(),
        )

    @classmethod
    def from_environment(cls, server: str | None = None, token: str | None = None) -> Self:
        """The server of `BAPO_SERVER` and the token of `BAPO_TOKEN`, else what `bapo login` saved.

        `server` is an address, or the name of a saved one. Raises ValueError where no token is found.
        """
        found = find_server(server, token)
        return cls(found.url, token=found.token, retries=SCRIPT_RETRIES)

    def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        arguments = _arguments(call)
        tried = 0
        while True:
            response, failure = None, None
            try:
                response = self.http.request(call.method, call.path, **arguments)
            except httpx.TransportError as error:
                failure = _unreachable(self.http, error)
            wait_seconds = self.retries.wait_seconds(call.method, call.headers, tried, response)
            if wait_seconds is None:
                if response is None:
                    assert failure is not None
                    raise failure
                return _read(call, response)
            time.sleep(wait_seconds)
            tried += 1

    def login(self, body: Login) -> tuple[UserInfo, str]:
        """Log in; also the session's secret, for the browser's cookie and for `Client(cookie=...)`."""
        call = post("/auth/login", UserInfo, body)
        try:
            response = self.http.request(call.method, call.path, **_arguments(call))
        except httpx.TransportError as error:
            raise _unreachable(self.http, error) from None
        return _read(call, response), response.cookies[SESSION_COOKIE]

    def awaitable(self) -> AsyncClient:
        """A client of its own for the same server and the same login."""
        return AsyncClient(self._base_url, token=self._secret, retries=self.retries.count)

    def pages(self, method: Callable[P, PageT], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[PageT]:
        """Every page of a list, such as `client.pages(client.runs, status="running")`."""
        page = method(*args, **kwargs)
        yield page
        while page.next_cursor is not None:
            kwargs["cursor"] = page.next_cursor
            page = method(*args, **kwargs)
            yield page

    @contextmanager
    def events(self, run_id: str | None = None, last_event_id: int | None = None) -> Iterator[Iterator[StreamEvent]]:
        """The events of one run, or of all; ends when the server closes the stream."""
        with self._lines(run_id, last_event_id, STREAM_SILENCE_SECONDS) as lines:
            reader = StreamReader()
            yield (event for line in lines if (event := reader.feed(line)) is not None)

    @contextmanager
    def _lines(self, run_id: str | None, last_event_id: int | None, silence_seconds: float) -> Iterator[Iterator[str]]:
        try:
            with self.http.stream(**_stream(run_id, last_event_id, silence_seconds)) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield response.iter_lines()
        except UnreachableError:
            raise
        except httpx.TransportError as error:
            raise _unreachable(self.http, error) from None

    def follow(
        self,
        run_id: str,
        *,
        last_event_id: int | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
        on_cut: OnCut | None = None,
    ) -> Iterator[StreamEvent]:
        """A run's events until it has ended; goes on after a cut where it was, none left out and none twice.

        Raises UnreachableError where the server stays away for longer than `patience_seconds` (None: never).
        """
        return self._follow(run_id, Course(last_event_id, patience_seconds), on_cut, _Deadline("", None))

    def _follow(self, run_id: str, course: Course, on_cut: OnCut | None, deadline: _Deadline) -> Iterator[StreamEvent]:
        while not course.is_over:
            failure: BapoError | None = None
            try:
                with self._lines(run_id, course.last_event_id, deadline.limit(STREAM_SILENCE_SECONDS)) as lines:
                    yield from self._events_of(run_id, course, lines)
            except BapoError as error:
                if not error.is_passing:
                    raise
                failure = error
            if course.is_over:
                return
            deadline.check()
            pause_seconds = course.cut(failure)
            if on_cut is not None:
                on_cut(failure)
            time.sleep(deadline.limit(pause_seconds))

    def _events_of(self, run_id: str, course: Course, lines: Iterator[str]) -> Iterator[StreamEvent]:
        reader = StreamReader()
        for line in lines:
            event = reader.feed(line)
            if event is None and course.was_cut and is_sign_of_life(line):
                event = course.made_up(self.run(run_id))
                if event is not None:
                    yield event
            elif event is not None:
                yield course.take(event)
            if course.is_over:
                return

    def wait(
        self,
        run_id: str,
        until: Until | None = None,
        *,
        timeout_seconds: float | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
    ) -> RunDetail:
        """The run, once it is where `until` says, or has ended.

        `until` is a status, several, or a question such as `lambda run: run.step >= 100`. Raises TimeoutError.
        """
        deadline = _Deadline(f"run {run_id!r} did not get there", timeout_seconds)
        run = self.run(run_id)
        if is_reached(run, until):
            return run
        for event in self._follow(run_id, Course(None, patience_seconds), None, deadline):
            if concerns(event, until):
                run = self.run(run_id)
                if is_reached(run, until):
                    return run
            deadline.check()
        return self.run(run_id)

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
        retries: int = 0,
    ) -> None:
        """Give `http`, made by `shared_http`, to share one pool of connections between callers."""
        self._own_http = http is None
        self._auth = _headers(token, cookie)
        self.retries = Retries(retries)
        self.http = http or shared_http(base_url, timeout_seconds)

    @classmethod
    def from_environment(cls, server: str | None = None, token: str | None = None) -> Self:
        """As `Client.from_environment`."""
        found = find_server(server, token)
        return cls(found.url, token=found.token, retries=SCRIPT_RETRIES)

    async def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        arguments = _arguments(call)
        arguments["headers"] |= self._auth
        tried = 0
        while True:
            response, failure = None, None
            try:
                response = await self.http.request(call.method, call.path, **arguments)
            except httpx.TransportError as error:
                failure = _unreachable(self.http, error)
            wait_seconds = self.retries.wait_seconds(call.method, call.headers, tried, response)
            if wait_seconds is None:
                if response is None:
                    assert failure is not None
                    raise failure
                return _read(call, response)
            await asyncio.sleep(wait_seconds)
            tried += 1

    async def login(self, body: Login) -> tuple[UserInfo, str]:
        """Log in; also the session's secret, for the browser's cookie and for `AsyncClient(cookie=...)`."""
        call = post("/auth/login", UserInfo, body)
        try:
            response = await self.http.request(call.method, call.path, **_arguments(call))
        except httpx.TransportError as error:
            raise _unreachable(self.http, error) from None
        return _read(call, response), response.cookies[SESSION_COOKIE]

    async def pages(
        self, method: Callable[P, Awaitable[PageT]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[PageT]:
        """Every page of a list, such as `client.pages(client.runs, status="running")`."""
        page = await method(*args, **kwargs)
        yield page
        while page.next_cursor is not None:
            kwargs["cursor"] = page.next_cursor
            page = await method(*args, **kwargs)
            yield page

    @asynccontextmanager
    async def events(
        self, run_id: str | None = None, last_event_id: int | None = None
    ) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """The events of one run, or of all; ends when the server closes the stream."""
        async with self._lines(run_id, last_event_id, STREAM_SILENCE_SECONDS) as lines:
            yield _events(lines)

    @asynccontextmanager
    async def _lines(
        self, run_id: str | None, last_event_id: int | None, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[str]]:
        arguments = _stream(run_id, last_event_id, silence_seconds)
        arguments["headers"] |= self._auth
        try:
            async with self.http.stream(**arguments) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_of(response)
                yield response.aiter_lines()
        except UnreachableError:
            raise
        except httpx.TransportError as error:
            raise _unreachable(self.http, error) from None

    async def follow(
        self,
        run_id: str,
        *,
        last_event_id: int | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
        on_cut: OnCut | None = None,
    ) -> AsyncIterator[StreamEvent]:
        """A run's events until it has ended; goes on after a cut where it was, none left out and none twice.

        Raises UnreachableError where the server stays away for longer than `patience_seconds` (None: never).
        """
        course = Course(last_event_id, patience_seconds)
        while not course.is_over:
            failure: BapoError | None = None
            try:
                async with self._lines(run_id, course.last_event_id, STREAM_SILENCE_SECONDS) as lines:
                    async for event in self._events_of(run_id, course, lines):
                        yield event
            except BapoError as error:
                if not error.is_passing:
                    raise
                failure = error
            if course.is_over:
                return
            pause_seconds = course.cut(failure)
            if on_cut is not None:
                on_cut(failure)
            await asyncio.sleep(pause_seconds)

    async def _events_of(self, run_id: str, course: Course, lines: AsyncIterator[str]) -> AsyncIterator[StreamEvent]:
        reader = StreamReader()
        async for line in lines:
            event = reader.feed(line)
            if event is None and course.was_cut and is_sign_of_life(line):
                event = course.made_up(await self.run(run_id))
                if event is not None:
                    yield event
            elif event is not None:
                yield course.take(event)
            if course.is_over:
                return

    async def wait(
        self,
        run_id: str,
        until: Until | None = None,
        *,
        timeout_seconds: float | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
    ) -> RunDetail:
        """The run, once it is where `until` says, or has ended. Raises TimeoutError."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._wait(run_id, until, patience_seconds)
        except TimeoutError:
            raise TimeoutError(f"run {run_id!r} did not get there within {timeout_seconds:g} s") from None

    async def _wait(self, run_id: str, until: Until | None, patience_seconds: float | None) -> RunDetail:
        run = await self.run(run_id)
        if is_reached(run, until):
            return run
        async for event in self.follow(run_id, patience_seconds=patience_seconds):
            if concerns(event, until):
                run = await self.run(run_id)
                if is_reached(run, until):
                    return run
        return await self.run(run_id)

    async def close(self) -> None:
        """Close the connections that are its own."""
        if self._own_http:
            await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[StreamEvent]:
    reader = StreamReader()
    async for line in lines:
        if (event := reader.feed(line)) is not None:
            yield event
