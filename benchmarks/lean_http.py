"""Asks a server as fast as it answers: sockets and nothing else, since httpx would work longer than the server."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlsplit

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


async def per_second(address: str, token: str, *, clients: int, seconds: float) -> float:
    """Return the responses to a GET per second over some connections, each of which repeats it after the response."""
    url = urlsplit(address)
    head = (
        f"GET {url.path}?{url.query} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    )
    answered = 0
    begin = time.perf_counter()

    async def keep_asking() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        while time.perf_counter() < begin + seconds:
            writer.write(head)
            said = (await reader.readuntil(_HEAD_END)).lower()
            assert said.startswith(b"http/1.1 200"), said
            place = said.index(_LENGTH) + len(_LENGTH)
            await reader.readexactly(int(said[place : said.index(b"\r\n", place)]))
            answered += 1
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(keep_asking() for _ in range(clients)))
    return answered / (time.perf_counter() - begin)
