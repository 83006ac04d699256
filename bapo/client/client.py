"""The server's API for Python: `Client` and `AsyncClient` share one table of calls, `bapo.client.calls`.

Everything that the web pages can do, a script can do with it:

    with Client.from_environment() as client:
        run = client.create_run(RunCreate(name="first", recipe="countdown-demo"))
        run = client.wait(run.id)

Every failure is a `BapoError`: `ApiError` where the server refuses, `UnreachableError` where it does not answer,
`InvalidRequestError` where nothing could be sent.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx

from bapo.api.base import Page
from bapo.client.call import BlockingCaller, Call
from bapo.client.calls import Calls
from bapo.client.core import SCRIPT_RETRIES, TIMEOUT_SECONDS, Core, async_http, bearer, blocking_http
from bapo.client.servers import find_server
from bapo.client.transport import AsyncTransport, BlockingTransport, entered, iterate, run

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")
PageT = TypeVar("PageT", bound=Page)


def shared_http(
    base_url: str, timeout_seconds: float = TIMEOUT_SECONDS, *, uses_proxies: bool = True
) -> httpx.AsyncClient:
    """Return a pool of connections for several `AsyncClient`s; close it with `await http.aclose()`.

    `uses_proxies`: whether requests to another machine take the proxy that the environment names.
    """
    return async_http(base_url, timeout_seconds, uses_proxies=uses_proxies)


def _blocking(
    method: Callable[Concatenate[Core, P], T], taken: Callable[[T], U]
) -> Callable[Concatenate[Client, P], U]:
    """Return a method of the core as one of `Client`."""

    def call(client: Client, /, *args: P.args, **kwargs: P.kwargs) -> U:
        return taken(method(client.core, *args, **kwargs))

    functools.update_wrapper(call, method)
    return call


class Client(Calls, BlockingCaller):
    """Blocking client. Raises BapoError: UnreachableError where no answer comes, ApiError where the server refuses."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        cookie: str | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        retries: int = 0,
    ) -> None:
        """Take `retries`: how often an idempotent request is sent again while the server is away."""
        self._base_url = base_url
        self._secret = token or cookie
        caller = bearer(token, cookie)
        self.http = blocking_http(base_url, timeout_seconds, headers=caller)
        self.core = Core(BlockingTransport(self.http), retries, caller)

    @classmethod
    def from_environment(cls, server: str | None = None, token: str | None = None) -> Self:
        """Return the server of `BAPO_SERVER` and the token of `BAPO_TOKEN`, else what `bapo login` saved.

        `server` is an address, or the name of a saved one. Raises ValueError where no token is found.
        """
        found = find_server(server, token)
        return cls(found.url, token=found.token, retries=SCRIPT_RETRIES)

    def send(self, call: Call[T]) -> T:
        """Make one call of the table."""
        return run(self.core.send(call))

    login = _blocking(Core.login, run)
    events = _blocking(Core.events, entered)
    follow = _blocking(Core.follow, iterate)
    wait = _blocking(Core.wait, run)

    def awaitable(self) -> AsyncClient:
        """Return a separate client for the same server and the same login."""
        return AsyncClient(self._base_url, token=self._secret, retries=self.core.retries.count)

    def pages(self, method: Callable[P, PageT], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[PageT]:
        """Yield every page of a list, such as `client.pages(client.runs, status="running")`."""
        page = method(*args, **kwargs)
        yield page
        while page.next_cursor is not None:
            kwargs["cursor"] = page.next_cursor
            page = method(*args, **kwargs)
            yield page

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(Core):
    """The asynchronous client: the calls of `Client`, to be awaited."""

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
        self.http = http or shared_http(base_url, timeout_seconds)
        super().__init__(AsyncTransport(self.http), retries, bearer(token, cookie))

    @classmethod
    def from_environment(cls, server: str | None = None, token: str | None = None) -> Self:
        """Return a client as `Client.from_environment` does."""
        found = find_server(server, token)
        return cls(found.url, token=found.token, retries=SCRIPT_RETRIES)

    async def pages(
        self, method: Callable[P, Awaitable[PageT]], /, *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[PageT]:
        """Yield every page of a list, such as `client.pages(client.runs, status="running")`."""
        page = await method(*args, **kwargs)
        yield page
        while page.next_cursor is not None:
            kwargs["cursor"] = page.next_cursor
            page = await method(*args, **kwargs)
            yield page

    async def close(self) -> None:
        """Close the connections that are its own."""
        if self._own_http:
            await self.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
