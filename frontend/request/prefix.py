"""The place under which browsers see the dashboard: between their addresses and cookies, and our own.

Pages, callbacks and rooms name our own addresses, such as /runs. The gate takes the prefix, the path under which a
proxy serves the dashboard, off each request and puts it before the addresses in headers. Our components (`Link`,
`Location`) and scripts put it before theirs in the browser; elements of HTML and of Mantine are given `served(path)`.

A browser sends the cookies of a host to every port of it, and those of / to every path. So that two dashboards on one
host do not take each other's session, the names of a dashboard's cookies end in its port and path:
`bapo_session_8001~bapo`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from urllib.parse import urlsplit

from starlette.types import Message, Scope, Send

from bapo.client import SESSION_COOKIE, SIGN_IN_COOKIE

PREFIX: ContextVar[str] = ContextVar("bapo_prefix", default="")
"""Prefix of the dashboard that handles the request, without a final slash; empty if it has a host name to itself."""
NEXT_COOKIE = "bapo_next"
"""Cookie with the requested page, set while the user is at the provider of single sign-on."""
_COOKIES = frozenset({SESSION_COOKIE, SIGN_IN_COOKIE, NEXT_COOKIE})
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


def cookie_mark(authority: str, prefix: str) -> str:
    """Return what the names of our cookies end in at this host and port; empty for the usual port without a prefix."""
    port = re.search(r":(\d+)$", authority)
    place = (port[1] if port else "") + prefix.replace("/", "~")
    return place and f"_{place}"


def inward(scope: Scope, prefix: str, mark: str) -> Scope | None:
    """Return the request with our own address and names of cookies; None for one that is not under the prefix."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path, encoded = within(scope["path"], prefix), within(raw.decode("latin-1"), prefix)
    if path is None or encoded is None:
        return None
    headers = [
        (name, _own_cookies(value.decode("latin-1"), mark).encode("latin-1") if name == b"cookie" else value)
        for name, value in scope["headers"]
    ]
    return {**scope, "path": path, "raw_path": encoded.encode("latin-1"), "headers": headers}


def _own_cookies(header: str, mark: str) -> str:
    """Return the cookies of a request, ours under their own names.

    One under our own name already is of a script that sets it, or of another dashboard: one with the mark goes first.
    """
    if not mark:
        return header
    given = [pair.strip() for pair in header.split(";") if pair.strip()]
    marked = {pair.partition("=")[0] for pair in given} & {name + mark for name in _COOKIES}
    kept = []
    for pair in given:
        name, equals, value = pair.partition("=")
        if name in marked:
            kept.append(name.removesuffix(mark) + equals + value)
        elif name + mark not in marked:
            kept.append(pair)
    return "; ".join(kept)


def outward(send: Send, prefix: str, host: str, mark: str) -> Send:
    """Return a `send` that puts the prefix into where an answer leads and the paths of its cookies, and the mark into
    their names.

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
                cookie, equals, rest = value.partition(b"=")
                if cookie.decode("latin-1") in _COOKIES:
                    value = cookie + mark.encode() + equals + rest
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
