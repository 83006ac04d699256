"""Ports that are held from the first moment of a start until the end."""

from __future__ import annotations

import socket
import sys

import pytest

from bapo.deploy.http_server import listen
from bapo.deploy.up.folder import StartError
from bapo.deploy.up.services import HOST, hold_port


@pytest.mark.skipif(sys.platform != "linux", reason="other systems let no second socket listen on a bound port")
def test_a_held_port_is_nobody_elses_and_our_services_listen_on_it() -> None:
    with hold_port() as port:
        # Twice: a service that is started again has its port.
        for _ in range(2):
            with listen(HOST, port) as listener:
                listener.listen()
                with socket.create_connection((HOST, port), timeout=10):
                    pass
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((HOST, port))
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((HOST, port))


def test_a_port_where_somebody_listens_is_refused() -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(StartError, match=f"Port {port} cannot be used"), hold_port(port):
            pass


@pytest.mark.parametrize(
    ("port", "host", "why"), [(70_000, HOST, "choose another"), (0, "no.such.invalid", "--listen")]
)
def test_a_port_or_address_that_is_none_is_refused(port: int, host: str, why: str) -> None:
    with pytest.raises(StartError, match=why), hold_port(port, host):
        pass
