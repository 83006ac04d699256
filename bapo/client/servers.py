"""The server that a command asks, and its token: the environment, what `bapo login` saved, or `bapo up` in this folder.

The one place that knows where secrets lie. Imports nothing but the standard library, so that completing a word in a
shell stays fast.
"""

from __future__ import annotations

import ipaddress
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

SERVER_VARIABLE = "BAPO_SERVER"
TOKEN_VARIABLE = "BAPO_TOKEN"  # noqa: S105 - the name of a variable
LOCAL_SERVER = "http://127.0.0.1:8000"
LOCAL_TOKEN_FILE = Path("bapo-data/admin-token")
"""Token file of `bapo up` in this folder."""
LOCAL_LOCK_FILE = Path("bapo-data/lock")
"""Lock file of `bapo up` in this folder, which contains its address."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself, so that requests to it never leave the machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class AddressError(ValueError):
    """A text is no address of a server; the message says what one looks like."""


@dataclass(frozen=True)
class ServerLogin:
    """A server, and what opens it."""

    url: str
    token: str
    user: str | None = None


@dataclass(frozen=True)
class SavedServers:
    """The logins that `bapo login` has saved, by name."""

    servers: Mapping[str, ServerLogin]
    default: str | None = None

    def named(self, name_or_url: str) -> tuple[str, ServerLogin] | None:
        """Return the saved server with this name or address."""
        url = normal_address(name_or_url)
        for name, login in self.servers.items():
            if name_or_url == name or url == login.url:
                return name, login
        return None

    def with_login(self, name: str, login: ServerLogin) -> SavedServers:
        """Return the servers with this one added as the default."""
        return SavedServers({**self.servers, name: login}, name)

    def without(self, name: str) -> SavedServers:
        """Return the servers without this one."""
        rest = {other: login for other, login in self.servers.items() if other != name}
        return SavedServers(rest, self.default if self.default in rest else next(iter(rest), None))


def config_folder() -> Path:
    """Return the user's own folder for settings of `bapo`."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home())) / "bapo"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "bapo"


def servers_file() -> Path:
    """Return the file of addresses and tokens, which only the user may read."""
    return config_folder() / "servers.json"


def read_servers() -> SavedServers:
    """Read the saved logins. Raises ValueError if the file is damaged."""
    path = servers_file()
    try:
        content = json.loads(path.read_bytes())
        servers = {name: ServerLogin(**login) for name, login in content["servers"].items()}
        return SavedServers(servers, content["default"])
    except FileNotFoundError:
        return SavedServers({})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged ({error}): remove it and log in again") from None


def write_servers(saved: SavedServers) -> None:
    """Save, readable by the user alone from the first byte on."""
    path = servers_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"default": saved.default, "servers": {name: vars(login) for name, login in saved.servers.items()}}
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file, indent=1)
    beside.replace(path)


def normal_address(url: str) -> str:
    """Return the address without a trailing slash and with a scheme. Raises AddressError if it is no address."""
    if "://" not in url:
        host = _hostname(f"//{url}", url)
        url = f"{'http' if is_loopback(host) else 'https'}://{url}"
    _hostname(url, url)
    return url.rstrip("/")


def _hostname(address: str, given: str) -> str:
    try:
        parts = urlsplit(address)
        _ = parts.port
        host = parts.hostname or ""
    except ValueError as error:
        raise AddressError(
            f"{given!r} is not an address ({error}): give one such as https://bapo.example.org:8000"
        ) from None
    return host


def is_address(text: str) -> bool:
    """Return whether a text is an address rather than the name of a saved server."""
    return "://" in text or ":" in text or "." in text or text == "localhost"


def is_open_to_eavesdroppers(url: str) -> bool:
    """Return whether a token would travel over a network without encryption."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")


def local_server() -> str:
    """Return the address of `bapo up` in this folder, or that of one started without options."""
    try:
        parts = urlsplit(json.loads(LOCAL_LOCK_FILE.read_bytes())["url"])
        port, path = parts.port, parts.path
    except (OSError, ValueError, KeyError, TypeError):
        port, path = None, ""
    return f"http://127.0.0.1:{port}{path}" if port else LOCAL_SERVER


def find_server(server: str | None = None, token: str | None = None) -> ServerLogin:
    """Return address and token: as given, else from the environment, as saved, or of `bapo up` in this folder.

    A saved token is only ever sent to the server that it was saved for. Raises ValueError saying what to do.
    """
    saved = read_servers()
    wanted = (server or os.environ.get(SERVER_VARIABLE, "")).strip() or None
    token = (token or os.environ.get(TOKEN_VARIABLE, "")).strip() or None
    name = wanted or saved.default
    known = None if name is None else saved.named(name)
    if known is not None:
        return known[1] if token is None else replace(known[1], token=token, user=None)
    if wanted is not None and not is_address(wanted):
        names = ", ".join(saved.servers) or "none yet"
        raise ValueError(f"no server is saved as {wanted!r}: give an address, or a name that is ({names})")
    url = normal_address(wanted or local_server())
    if token is None and is_loopback(urlsplit(url).hostname or "") and LOCAL_TOKEN_FILE.is_file():
        token = LOCAL_TOKEN_FILE.read_text().strip()
    if token is None:
        raise ValueError(f"no token for {url}: run `bapo login {url}`, set {TOKEN_VARIABLE}, or give --token-file FILE")
    return ServerLogin(url, token)
