"""Whom a request comes from: the peer, unless a trusted proxy says otherwise."""

from __future__ import annotations

import pytest

from bapo.deploy.proxies import client_behind, networks_of
from bapo.deploy.settings import SettingsError, load
from frontend.server.settings import FrontendSettings

TRUSTED = networks_of("127.0.0.1, 10.1.0.0/16,,fd00::/8 ")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        # A stranger speaks for itself only.
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("127.0.0.1", "203.0.113.7", "203.0.113.7"),
        # The proxy names the last one; the client wrote what is to the left.
        ("127.0.0.1", "6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("127.0.0.1", "6.6.6.6,203.0.113.7,10.1.2.3", "203.0.113.7"),
        ("127.0.0.1", "10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "unknown", "127.0.0.1"),
        ("127.0.0.1", "6.6.6.6, ", "127.0.0.1"),
        ("127.0.0.1", "6.6.6.6, nonsense, 10.1.2.3", "10.1.2.3"),
        # With the port, as some proxies write it.
        ("127.0.0.1", "203.0.113.7:4711", "203.0.113.7"),
        ("127.0.0.1", "[2001:DB8::1]:4711", "2001:db8::1"),
        ("fd00::1", "2001:db8::2", "2001:db8::2"),
        # A socket for both families.
        ("::ffff:127.0.0.1", "::ffff:203.0.113.7", "203.0.113.7"),
        ("fe80::1%eth0", "6.6.6.6", "fe80::1"),
        ("testclient", "6.6.6.6", "testclient"),
    ],
)
def test_a_client_is_the_last_one_that_no_trusted_proxy_is(peer: str, forwarded: str, client: str) -> None:
    assert client_behind(peer, forwarded, TRUSTED) == client


def test_nobody_is_trusted_by_default() -> None:
    assert client_behind("127.0.0.1", "203.0.113.7", FrontendSettings().proxy_networks) == "127.0.0.1"


@pytest.mark.parametrize("value", ["*", "proxy.example.org", "10.0.0.0/33", "127.0.0.1; 10.0.0.1"])
def test_what_is_no_network_is_refused_at_the_start(value: str) -> None:
    with pytest.raises(SettingsError, match=r"BAPO_TRUSTED_PROXIES = .*is neither an address nor a network: give"):
        load(FrontendSettings, trusted_proxies=value)
