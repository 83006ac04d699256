"""Transport of requests: in an event loop, or in the calling thread behind the same awaitable interface.

What both clients do is written once, as coroutines. Over a `BlockingTransport` these never suspend: `run`, `iterate`
and `entered` take them from start to end without an event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import Any, TypeVar

import httpx

T = TypeVar("T")

Lines = AsyncIterator[tuple[httpx.Response, AsyncIterator[str]]]


class AsyncTransport:
    """Over `httpx.AsyncClient`; failures are httpx's."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send a request."""
        return await self.http.request(method, path, **arguments)

    @asynccontextmanager
    async def lines(self, path: str, **arguments: Any) -> Lines:
        """Return a response line by line; one that is no success has been read."""
        async with self.http.stream("GET", path, **arguments) as response:
            if not response.is_success:
                await response.aread()
            yield response, response.aiter_lines()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Cancel the work inside after so many seconds. Raises TimeoutError."""
        return asyncio.timeout(seconds)


class BlockingTransport:
    """Over `httpx.Client`: awaiting any of these never suspends."""

    def __init__(self, http: httpx.Client) -> None:
        self.http = http

    async def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Send a request."""
        return self.http.request(method, path, **arguments)

    @asynccontextmanager
    async def lines(self, path: str, **arguments: Any) -> Lines:
        """Return a response line by line; one that is no success has been read."""
        with self.http.stream("GET", path, **arguments) as response:
            if not response.is_success:
                response.read()
            yield response, _awaitable(response.iter_lines())

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def timeout(self, _: float | None) -> AbstractAsyncContextManager[object]:
        """Set no limit: a request in progress has its own timeout."""
        return nullcontext()


async def _awaitable(items: Iterator[T]) -> AsyncIterator[T]:
    for item in items:
        yield item


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine over a `BlockingTransport`."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("a blocking transport never suspends")


def iterate(items: AsyncGenerator[T, None]) -> Iterator[T]:
    """Yield the items of an asynchronous generator over a `BlockingTransport`."""
    try:
        while True:
            try:
                item = run(items.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(items.aclose())


@contextmanager
def entered(context: AbstractAsyncContextManager[AsyncGenerator[T, None]]) -> Iterator[Iterator[T]]:
    """Yield the items that an asynchronous context over a `BlockingTransport` gives, in a plain one."""
    items = iterate(run(context.__aenter__()))
    try:
        yield items
    except BaseException as error:
        if not run(context.__aexit__(type(error), error, error.__traceback__)):
            raise
    else:
        run(context.__aexit__(None, None, None))
