"""Ports for processes that bind them later."""

from __future__ import annotations

import socket


def hold_port() -> socket.socket:
    """Bind a free port without listening on it, so that no other process is given it while the socket is open.

    The kernel hands out no port that is bound, neither to servers nor to outgoing connections; a server that names this
    port and sets SO_REUSEADDR, as ours do, can listen on it all the same.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    return held
