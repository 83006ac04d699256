"""The path under which a proxy serves the dashboard, such as /bapo: between the browser's addresses and our own.

Pages, callbacks and rooms name our own addresses, such as /runs. The gate takes the prefix off each request and puts it
before the addresses in headers. Our components (`Link`, `Location`) and scripts put it before theirs in the browser;
elements of HTML and of Mantine are given `served(path)`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from urllib.parse import urlsplit

from starlette.types import Message, Scope, Send

PREFIX: ContextVar[str] = ContextVar("bapo_prefix", default="")
"""Prefix of the dashboard that handles the request, without a final slash; empty if it has a host name to itself."""
_COOKIE_PATH = re.compile(rb"(;\s*path=)(/[^;]*)", re.IGNORECASE)


def served(path: str) -> str:
    """Return one of our addresses with the prefix; other sites' addresses unchanged."""
    return PREFIX.get() + path if is_own(path) else path


def is_own(address: str) -> bool:
    """Return whether an address names a place on this host, and no other host."""
    return address.startswith("/") and not address.startswith("//")


def within(path: str, prefix: str) -> str | None:
    """Return our own address that the browser's path names; None where it names none."""
    if not prefix or path == prefix:
        return path if not prefix else "/"
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else None


def inward(scope: Scope, prefix: str) -> Scope | None:
    """Return the request without the prefix; None for one that is not under it."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path, encoded = within(scope["path"], prefix), within(raw.decode("latin-1"), prefix)
    if path is None or encoded is None:
        return None
    return {**scope, "path": path, "raw_path": encoded.encode("latin-1")}


def outward(send: Send, prefix: str, host: str) -> Send:
    """Return a `send` that puts the prefix into where an answer leads and into the paths of its cookies.

    The backend redirects to whole addresses of `host`, not knowing whether the browser is on TLS: they become paths.
    """

    def changed(name: bytes, value: bytes) -> bytes:
        match name.lower():
            case b"location":
                place = value.decode("latin-1")
                parts = urlsplit(place)
                if parts.netloc == host and parts.scheme in ("http", "https"):
                    place = parts._replace(scheme="", netloc="").geturl() or "/"
                return (prefix + place if is_own(place) else place).encode("latin-1")
            case b"set-cookie":
                return _COOKIE_PATH.sub(lambda found: found[1] + _joined(prefix, found[2]), value)
        return value

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, changed(name, value)) for name, value in message.get("headers", ())]
            message = {**message, "headers": headers}
        await send(message)

    return sent


def _joined(prefix: str, path: bytes) -> bytes:
    own = path.rstrip(b"/")
    return prefix.encode() + own or b"/"
