"""A real server of somebody else's: it writes down what comes, and answers as a test wants."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

DOCUMENT = Path(__file__).parents[2] / "docs" / "webhooks.md"


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        """As JSON."""
        return orjson.loads(self.content)


@dataclass
class Receiver:
    """What a receiver got, and what it answers."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answer: Callable[[BaseHTTPRequestHandler], object] = lambda handler: respond(handler, 204)
    finished: threading.Event = field(default_factory=threading.Event)
    """Set at the end: answers that wait for nothing stop waiting."""

    def of(self, event: str) -> list[Received]:
        """Requests about one kind of event."""
        return [each for each in self.received if each.headers["BAPO-Event"] == event]


def respond(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    """A whole answer."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def receiving(**properties: Any) -> Iterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver = Receiver(**properties)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            receiver.received.append(Received(self.path, dict(self.headers.items()), content))
            try:
                receiver.answer(self)
            except OSError:
                # The sender has gone: the test looks at what it says about that.
                self.close_connection = True

        do_GET = do_POST  # noqa: N815 - the name is the library's

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="receiver")
    thread.start()
    try:
        yield receiver
    finally:
        receiver.finished.set()
        server.shutdown()
        thread.join()
        server.server_close()


def documented() -> SimpleNamespace:
    """Return the code that the document gives to receivers."""
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - our own document
    return SimpleNamespace(**names)
