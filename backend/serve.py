"""Runs the application under uvicorn."""

from __future__ import annotations

import socket
from types import FrameType

import uvicorn

from backend.app import create_app
from backend.events.hub import EventHub
from backend.kit.context import Context
from backend.kit.settings import Settings

GRACE_SECONDS = 5
"""How long requests in progress may take when the server stops."""
KEEP_ALIVE_SECONDS = 75
"""An idle connection lives longer here than in the pools of its clients (httpx: 5 s, a proxy's often 60 s): where both
end it at the same moment, the request that is just being sent is lost."""


class Server(uvicorn.Server):
    """Ends the event streams as soon as it is asked to stop: uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks us to stop."""
        self.stop()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Stop soon; callable from any thread."""
        self._context.part(EventHub).close_streams_threadsafe()
        self.should_exit = True


def build_server(settings: Settings, host: str = "127.0.0.1", port: int = 0) -> Server:
    """A server that is not running yet."""
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        # The frontend's proxy is the only one that may speak for others, and nothing here depends on their address.
        proxy_headers=False,
    )
    return Server(config, app.state.context)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises OSError where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    return listener
