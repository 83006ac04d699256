"""ASGI apps on free ports, in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from backend.serve import listen
from tests.services import wait_until


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """The address of the app while it is served."""
    with listen("127.0.0.1", 0) as listener:
        config = uvicorn.Config(app, log_config=None, proxy_headers=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="app")
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            assert thread.is_alive(), "the app did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
