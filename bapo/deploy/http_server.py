"""The HTTP server that the backend and the frontend share: uvicorn, with what it leaves open to anybody bounded."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable
from http import HTTPStatus
from types import FrameType

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

GRACE_SECONDS = 5
"""Most seconds that requests in progress may take when the server stops."""
KEEP_ALIVE_SECONDS = 75
"""An idle connection lives longer here than in the pools of its clients (httpx: 5 s, a proxy's often 60 s): where both
end it at the same moment, the request that is just being sent is lost."""
MAX_HEAD_BYTES = 65_536
"""Request line and headers; one read more may come in before they are refused."""
MAX_FRAMING_BYTES = 65_536
"""Bytes after the head that are no body: sizes and extensions of chunks, and trailers. They are counted from the
last piece of the body; one read more may come in, as with the head."""
HEAD_SECONDS = 20.0
"""Most seconds from the start of a connection or request to the end of its headers."""
LINGER_SECONDS = 5.0
"""Most seconds in which the rest of a body may come in after the request was answered."""
MOST_CONNECTIONS = 2_000
"""For a further one an idle one is closed, of the address that has most of them. Where all have a request in progress,
it is answered 503: the frontend's pool of connections to the backend looks at each of its connections for each request,
so that many more would hold up everybody for minutes."""
OPEN_FILES = 8_192
"""The frontend needs one for each connection and another for its request to the backend. The usual limit of 1,024 is
for programs that use select(); beyond it, the event loop closes new connections without a word."""


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 whose connections are bounded in number, and their request heads in size and time.

    A head without an end would hold up everybody, and a body without one its connection: the apps bound how long they
    read it, and here it ends with the answer. What frames a body counts as well: the apps see nothing of it.
    """

    _head_bytes = 0
    _framing_bytes = 0
    _idle_since = 0.0
    _is_surplus = False
    _deadline: asyncio.TimerHandle | None = None
    _is_body_complete = True
    _last_moment: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first head."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._is_surplus = len(self.connections) > MOST_CONNECTIONS and not self._make_room()
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._end_head()
        self._end_body()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take incoming bytes; reject a head that is too large, and any head if there are too many connections."""
        if self._is_surplus:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        if self._framing_bytes > MAX_FRAMING_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        if self._deadline is not None:
            self._head_bytes += len(data)
        if not self._is_body_complete:
            self._framing_bytes += len(data)
        super().data_received(data)

    def on_message_begin(self) -> None:
        """Await the head of a request on a connection that has served another."""
        if self._deadline is None:
            self._expect_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; drop a trailer, which would become a header of a request that is being answered."""
        if self._is_body_complete:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body, which the app counts."""
        self._framing_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """End the head's deadline: the request may take its time."""
        self._end_head()
        self._is_body_complete = False
        if self.parser.get_method() == b"CONNECT":
            self.app = _no_tunnel
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Keep the connection for the next request."""
        self._end_body()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """End the connection soon if a body still comes in, which no app reads any more."""
        super().on_response_complete()
        self._idle_since = self.loop.time()
        if not self._is_body_complete and self.cycle.response_complete:
            self._last_moment = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing in the log: anybody may ask for another protocol, and none is missing here."""

    @property
    def is_idle(self) -> bool:
        """True if no request is in progress, or none has come in as a whole."""
        return self.cycle is None or (self.cycle.response_complete and not self.pipeline)

    def _make_room(self) -> bool:
        """Close the connection that is idle for longest, of the address with most idle ones; False without any."""
        by_address: dict[str, list[BoundedHttp]] = {}
        for each in self.connections:
            if each is not self and isinstance(each, BoundedHttp) and each.is_idle and not each.transport.is_closing():
                by_address.setdefault(each.client[0] if each.client else "", []).append(each)
        if not by_address:
            return False
        most = max(by_address.values(), key=len)
        longest = min(most, key=lambda each: each._idle_since)
        longest.transport.close()
        return True

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _end_head(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_body(self) -> None:
        self._is_body_complete = True
        self._framing_bytes = 0
        if self._last_moment is not None:
            self._last_moment.cancel()
            self._last_moment = None

    def _refuse(self, status: HTTPStatus) -> None:
        self._end_head()
        if self.transport.is_closing():
            return
        # An answer in progress is not written into.
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()


async def _no_tunnel(_: Scope, __: Receive, send: Send) -> None:
    """Refuse CONNECT, with which a client asks a proxy for a tunnel: its body has no meaning here."""
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": HTTPStatus.NOT_IMPLEMENTED, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class Server(uvicorn.Server):
    """Serves an ASGI app; ends its event streams as soon as it is asked to stop: uvicorn would wait for them."""

    def __init__(self, app: ASGIApp, end_streams: Callable[[], None], host: str = "127.0.0.1", port: int = 0) -> None:
        """Take `end_streams`, which is called from a signal handler or from another thread."""
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            http=BoundedHttp,
            # Nothing here uses WebSockets, and a connection that becomes one leaves these bounds.
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            # Anybody may claim to speak for others; the public address tells all that we need.
            proxy_headers=False,
        )
        super().__init__(config)
        self._end_streams = end_streams
        _allow_open_files()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal."""
        self.stop()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """Stop soon; callable from any thread."""
        self._end_streams()
        self.should_exit = True


def _allow_open_files() -> None:
    """Raise the process's own limit of open files, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener
