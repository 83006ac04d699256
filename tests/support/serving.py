"""ASGI apps on free ports, in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from bapo.deploy.http_server import Server, listen
from frontend.server.proxy import ApiProxy
from tests.support.services import wait_until


@contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The address of the app while it is served, on a free port unless one is named."""
    with listen("127.0.0.1", port) as listener:
        server = Server(app, getattr(app, "end_streams", lambda: None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="app")
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            assert thread.is_alive(), "the app did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.stop()
            thread.join()


class Relay:
    """A proxy on its own, which ends its streams and closes its connections when its server ends."""

    def __init__(self, backend_url: str, body_seconds: float = 60.0) -> None:
        self._proxy = ApiProxy(backend_url, body_seconds)
        self._loop: asyncio.AbstractEventLoop | None = None

    def end_streams(self) -> None:
        """End the streams that are open: the server would wait for them, and then break off whatever it does."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._proxy.end_streams)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._proxy(scope, receive, send)
            return
        self._loop = asyncio.get_running_loop()
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._proxy.close()
        await send({"type": "lifespan.shutdown.complete"})
