"""Ports for processes that must be given one before they listen."""

from __future__ import annotations

import random
import socket
from pathlib import Path

SYSTEMS_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_PORT, USUAL_FIRST_OF_SYSTEM = 10_000, 32_768


def free_port() -> int:
    """Find a port where no process listens, and which the system gives to none that asks for any port.

    A port of the system's own range may be taken by any connection before the process that is to have it has started,
    or while it restarts.
    """
    end = int(SYSTEMS_PORTS.read_text().split()[0]) if SYSTEMS_PORTS.exists() else USUAL_FIRST_OF_SYSTEM
    while True:
        # Hypothesis seeds the shared generator: two test processes would draw the same ports.
        port = random.SystemRandom().randrange(FIRST_PORT, end)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def hold_port() -> socket.socket:
    """Bind a free port without listening on it, so that no other process is given it while the socket is open.

    The kernel hands out no port that is bound, neither to servers nor to outgoing connections; a server that names this
    port and sets SO_REUSEADDR, as ours do, can listen on it all the same.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    return held
