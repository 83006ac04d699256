"""Tells the origin of a server's own pages from all others."""

from __future__ import annotations

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def is_own_origin(origin: str, host: str, *, is_https: bool) -> bool:
    """Return whether a page of this origin was loaded from `host`, as the Host header names it.

    Where people reach the server over TLS, a page that came without it may be anybody's on the way, except on this
    machine.
    """
    scheme, _, authority = origin.lower().partition("://")
    if authority != host.lower():
        return False
    is_here = authority in LOOPBACK or authority.rpartition(":")[0] in LOOPBACK
    return scheme == "https" or (scheme == "http" and (is_here or not is_https))
