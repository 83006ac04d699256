"""A network between a worker and the server that can be taken away: refused, silent, or cut in the middle."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

CHUNK = 65_536


class Network(Enum):
    """What happens to connections."""

    OPEN = "open"
    REFUSED = "refused"
    SILENT = "silent"
    """Nothing passes; what was sent meanwhile arrives late."""


@dataclass
class Cut:
    """The next upload of records is broken off, once."""

    answer: bool
    """Within the server's answer, which is then lost although the server has stored the records; else within the
    request."""
    after_bytes: int
    on_cut: Callable[[], None] = lambda: None
    """Called just before the connections break."""
    done: threading.Event = field(default_factory=threading.Event)


class _Connection:
    """Two sockets, and whether an upload is under way."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.near = near
        self.far = far
        self.uploads = False

    def reset(self) -> None:
        """Break it off, so that both ends see an error."""
        for side in (self.near, self.far):
            try:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                # Closed already by the other direction.
                pass
            side.close()


class Proxy:
    """Listens on a free port and passes every connection on."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._state = threading.Condition()
        self._network = Network.OPEN
        self._cut: Cut | None = None
        self._connections: set[_Connection] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def set(self, network: Network) -> None:
        """Change the network; where it refuses, what is open breaks."""
        with self._state:
            self._network = network
            broken = list(self._connections) if network is Network.REFUSED else []
            self._state.notify_all()
        for connection in broken:
            connection.reset()

    def cut_next_upload(self, cut: Cut) -> None:
        """Break off the next upload."""
        with self._state:
            self._cut = cut

    def close(self) -> None:
        """Take no more connections, and break those that are open."""
        self._listener.close()
        self.set(Network.REFUSED)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._target, timeout=5)
                far.settimeout(None)
            except OSError:
                near.close()
                continue
            connection = _Connection(near, far)
            with self._state:
                refused = self._network is Network.REFUSED
                if not refused:
                    self._connections.add(connection)
            if refused:
                connection.reset()
                continue
            for source, target, is_answer in ((near, far, False), (far, near, True)):
                threading.Thread(
                    target=self._pass_on, args=(connection, source, target, is_answer), daemon=True
                ).start()

    def _pass_on(self, connection: _Connection, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(CHUNK):
                with self._state:
                    self._state.wait_for(lambda: self._network is not Network.SILENT)
                    cut = self._cut_here(connection, data, is_answer)
                if cut is not None:
                    target.sendall(data[: cut.after_bytes])
                    cut.on_cut()
                    cut.done.set()
                    break
                target.sendall(data)
        except OSError:
            # Broken off by one end, or by us.
            pass
        with self._state:
            self._connections.discard(connection)
        connection.reset()

    def _cut_here(self, connection: _Connection, data: bytes, is_answer: bool) -> Cut | None:
        if not is_answer and data.startswith(b"POST "):
            connection.uploads = b"/records " in data[:200]
        cut = self._cut
        if cut is None or not connection.uploads or cut.answer != is_answer:
            return None
        self._cut = None
        return cut
