"""The part that both clients share: calls with retries, event streams across cuts, waiting for a run."""

from __future__ import annotations

import functools
import os
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, TypeVar

import httpx
from pydantic import ValidationError

from bapo.api.accounts import Login, UserInfo
from bapo.api.records import StreamEvent
from bapo.api.runs import RunDetail
from bapo.client.call import AwaitableCaller, Call, Retries, run_path
from bapo.client.calls import Calls
from bapo.client.connection_failures import CANNOT_BE_READ
from bapo.client.errors import (
    BapoError,
    InvalidRequestError,
    UnreachableError,
    check_address,
    check_secret,
    error_of,
    not_readable,
)
from bapo.client.event_stream import (
    PATIENCE_SECONDS,
    StreamPosition,
    StreamReader,
    Until,
    concerns,
    is_reached,
    is_sign_of_life,
)
from bapo.client.proxies import AsyncProxiedTransport, BlockedTransport, ProxiedTransport, proxy_for
from bapo.client.transport import AsyncTransport, BlockingTransport

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 5.0
POOL = httpx.Limits(max_connections=None, max_keepalive_connections=50)
"""No call waits for a connection: a pool that is full looks at all calls that wait for each of them, so that some 1,500
hold up everybody for minutes. Their number is bounded where they come in."""
STREAM_SILENCE_SECONDS = 60.0
"""The server sends a comment every 15 s; a stream that is silent for longer is broken."""
SCRIPT_RETRIES = 4
"""Number of retries of a request by clients of `from_environment`: about 8 seconds in all."""
SESSION_COOKIE = "bapo_session"
SIGN_IN_COOKIE = "bapo_sign_in"
"""Cookie of a browser that has gone to the provider of single sign-on."""
API = "/api/v1"
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
"""Files that OpenSSL reads or writes."""

OnCut = Callable[[BapoError | None], None]
"""Called at each cut of a stream that is followed; with None where the server ended the stream itself."""


class Deadline:
    """The end of a wait."""

    def __init__(self, seconds: float | None = None) -> None:
        self._at = None if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise TimeoutError after the deadline."""
        if self._at is not None and time.monotonic() >= self._at:
            raise TimeoutError

    def limit(self, seconds: float) -> float:
        """Return `seconds`, or the time until the deadline if that is shorter."""
        return seconds if self._at is None else max(0.001, min(seconds, self._at - time.monotonic()))


class Core(Calls, AwaitableCaller):
    """The calls over a transport."""

    def __init__(self, transport: AsyncTransport | BlockingTransport, retries: int, caller: dict[str, str]) -> None:
        """Take `caller`: the headers that identify the caller."""
        self.retries = Retries(retries)
        self._transport = transport
        self._caller = caller

    async def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        arguments = call.arguments(self._caller)
        tried = 0
        while True:
            response, failure = None, None
            try:
                response = await self._transport.request(call.method, call.path, **arguments)
            except httpx.RequestError as error:
                failure = self._unreachable(error)
            except httpx.InvalidURL as error:
                raise InvalidRequestError("path", call.path, str(error)) from None
            if failure is not None and failure.is_lasting:
                raise failure
            wait_seconds = self.retries.wait_seconds(call.method, call.headers, tried, response)
            if wait_seconds is not None:
                await self._transport.sleep(wait_seconds)
                tried += 1
            elif response is None:
                assert failure is not None
                raise failure
            elif response.is_success:
                try:
                    return call.parse(response)
                except (ValidationError, KeyError):
                    raise not_readable(response) from None
            else:
                raise error_of(response)

    async def login(self, body: Login) -> tuple[UserInfo, str]:
        """Log in. Returns the user, and the session's secret for `cookie=` of a client or for a browser."""
        return await self.send(Call("POST", "/auth/login", _user_and_secret, body=body))

    @asynccontextmanager
    async def events(
        self, run_id: str | None = None, last_event_id: int | None = None
    ) -> AsyncIterator[AsyncGenerator[StreamEvent, None]]:
        """Yield the events of one run, or of all; ends when the server closes the stream."""
        async with self._lines(run_id, last_event_id, STREAM_SILENCE_SECONDS) as lines:
            yield _events(lines)

    def follow(
        self,
        run_id: str,
        *,
        last_event_id: int | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
        on_cut: OnCut | None = None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Return a run's events until it has ended; resumes after a cut, none left out and none twice.

        Raises UnreachableError where the server stays away for longer than `patience_seconds` (None: never).
        """
        return self._follow(run_id, StreamPosition(last_event_id, patience_seconds), on_cut, Deadline())

    async def _follow(
        self, run_id: str, position: StreamPosition, on_cut: OnCut | None, deadline: Deadline
    ) -> AsyncGenerator[StreamEvent, None]:
        while not position.is_over:
            failure: BapoError | None = None
            try:
                silence_seconds = deadline.limit(STREAM_SILENCE_SECONDS)
                async with self._lines(run_id, position.last_event_id, silence_seconds) as lines:
                    reader = StreamReader()
                    async for line in lines:
                        event = reader.feed(line)
                        if event is not None:
                            yield position.take(event)
                        elif position.was_cut and is_sign_of_life(line):
                            end = position.made_up(await self.run(run_id))
                            if end is not None:
                                yield end
                        if position.is_over:
                            return
            except BapoError as error:
                if not error.is_passing:
                    raise
                failure = error
            deadline.check()
            pause_seconds = position.cut(failure)
            if on_cut is not None:
                on_cut(failure)
            await self._transport.sleep(deadline.limit(pause_seconds))

    async def wait(
        self,
        run_id: str,
        until: Until | None = None,
        *,
        timeout_seconds: float | None = None,
        patience_seconds: float | None = PATIENCE_SECONDS,
    ) -> RunDetail:
        """Wait until a run has reached `until`, or has ended, and return it.

        `until` is a status, several, or a question such as `lambda run: run.step >= 100`. Raises TimeoutError.
        """
        try:
            async with self._transport.timeout(timeout_seconds):
                return await self._wait(
                    run_id, until, StreamPosition(None, patience_seconds), Deadline(timeout_seconds)
                )
        except TimeoutError:
            raise TimeoutError(f"run {run_id!r} did not get there within {timeout_seconds:g} s") from None

    async def _wait(self, run_id: str, until: Until | None, position: StreamPosition, deadline: Deadline) -> RunDetail:
        run = await self.run(run_id)
        if is_reached(run, until):
            return run
        async for event in self._follow(run_id, position, None, deadline):
            if concerns(event, until):
                run = await self.run(run_id)
                if is_reached(run, until):
                    return run
            deadline.check()
        return await self.run(run_id)

    @asynccontextmanager
    async def _lines(
        self, run_id: str | None, last_event_id: int | None, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[str]]:
        path = "/events" if run_id is None else run_path(run_id, "events")
        headers = {"Accept": "text/event-stream"} | self._caller
        if last_event_id is not None:
            headers["Last-Event-ID"] = str(last_event_id)
        timeout = httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS, read=silence_seconds)
        try:
            async with self._transport.lines(path, headers=headers, timeout=timeout) as (response, lines):
                if not response.is_success:
                    raise error_of(response)
                yield lines
        except UnreachableError:
            raise
        except httpx.RequestError as error:
            raise self._unreachable(error) from None

    def _unreachable(self, error: httpx.RequestError) -> UnreachableError:
        return unreachable(self._transport.http, error)


def blocking_http(
    base_url: str, timeout_seconds: float, *, path: str = API, headers: Mapping[str, str] | None = None
) -> httpx.Client:
    """Return connections for blocking requests to a server, through the proxy that the environment names for it.

    Raises InvalidRequestError if the text is no address.
    """
    options = _options(base_url, timeout_seconds, ProxiedTransport)
    return httpx.Client(base_url=base_url.rstrip("/") + path, headers=headers, **options)


def async_http(base_url: str, timeout_seconds: float, *, uses_proxies: bool = True) -> httpx.AsyncClient:
    """Return the asynchronous equivalent of `blocking_http`; without `uses_proxies`, no variable's proxy is used."""
    options = _options(base_url, timeout_seconds, AsyncProxiedTransport, uses_proxies=uses_proxies)
    return httpx.AsyncClient(base_url=base_url.rstrip("/") + API, **options)


def _options(
    base_url: str,
    timeout_seconds: float,
    proxied: type[ProxiedTransport | AsyncProxiedTransport],
    *,
    uses_proxies: bool = True,
) -> dict[str, Any]:
    """Return the arguments of both kinds of httpx client."""
    check_address(base_url)
    proxy = proxy_for(base_url) if uses_proxies else None
    options: dict[str, Any] = {
        "timeout": httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, CONNECT_SECONDS)),
        # A pool of connections may serve several users: none may get another's session.
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        "trust_env": False,
    }
    problem = None if proxy is None else proxy.problem()
    addresses = [base_url] if proxy is None else [base_url, proxy.address]
    try:
        is_encrypted = any(address.lower().startswith("https:") for address in addresses)
        certificates = _trusted_certificates(*map(os.environ.get, CERTIFICATE_VARIABLES)) if is_encrypted else _NONE
    except OSError as error:
        given = ", ".join(f"{name} = {os.environ[name]}" for name in CERTIFICATE_VARIABLES if os.environ.get(name))
        problem = f"{given} {CANNOT_BE_READ} ({error.strerror or error})"
    if problem is not None:
        return {**options, "transport": BlockedTransport(problem)}
    if proxy is not None:
        return {**options, "transport": proxied(proxy, verify=certificates, limits=POOL)}
    return {**options, "verify": certificates, "limits": POOL}


_NONE = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts no certificate: for connections without encryption, which need none read."""


@functools.cache
def _trusted_certificates(*_named: str | None) -> ssl.SSLContext:
    """Read the certificates once per process and setting, which takes longer than many requests."""
    return httpx.create_ssl_context()


def address_of(http: httpx.Client | httpx.AsyncClient) -> str:
    """Return the server's address."""
    return str(http.base_url).rstrip("/").removesuffix(API)


def unreachable(http: httpx.Client | httpx.AsyncClient, error: httpx.RequestError) -> UnreachableError:
    """Return the error of a request without an answer."""
    return UnreachableError(address_of(http), str(error) or type(error).__name__)


def bearer(token: str | None, cookie: str | None) -> dict[str, str]:
    """Return the header that identifies the caller. A session's secret works as a token and then needs no Origin."""
    secret = token or cookie
    if secret:
        check_secret(secret)
    return {"Authorization": f"Bearer {secret}"} if secret else {}


def _user_and_secret(response: httpx.Response) -> tuple[UserInfo, str]:
    # A dashboard adds its port and path to the name.
    secrets = [value for name, value in response.cookies.items() if name.startswith(SESSION_COOKIE)]
    if not secrets:
        raise KeyError(SESSION_COOKIE)
    return UserInfo.model_validate_json(response.content, extra="ignore"), secrets[0]


async def _events(lines: AsyncIterator[str]) -> AsyncGenerator[StreamEvent, None]:
    reader = StreamReader()
    async for line in lines:
        if (event := reader.feed(line)) is not None:
            yield event
