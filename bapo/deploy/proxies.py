"""The client behind reverse proxies, and the origin of a page that it loaded."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def networks_of(text: str) -> tuple[Network, ...]:
    """Return the networks that a setting names. Raises ValueError for what is none."""
    named = [each for part in text.split(",") if (each := part.strip())]
    found = []
    for each in named:
        try:
            found.append(ipaddress.ip_network(each, strict=False))
        except ValueError:
            raise ValueError(
                f"{each!r} is neither an address nor a network: give some such as 10.0.0.5, 10.1.0.0/16, fd00::/8, "
                "separated by commas"
            ) from None
    return tuple(found)


def _checked(text: str) -> str:
    networks_of(text)
    return text


ProxyNetworks = Annotated[str, AfterValidator(_checked)]
"""Addresses and networks, separated by commas."""


def address_in(text: str) -> Address | None:
    """Return the address in a peer's name or in an entry of `X-Forwarded-For`; None where there is none.

    Some proxies write a port behind it; a socket for both families writes IPv4 addresses as `::ffff:192.0.2.1`.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def is_among(address: Address | None, networks: Sequence[Network]) -> bool:
    """Return whether one of the networks holds the address."""
    return address is not None and any(address in network for network in networks)


def network_of(client: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 one, which has 2^64 addresses."""
    address = address_in(client)
    if not isinstance(address, ipaddress.IPv6Address):
        return client
    return str(ipaddress.ip_network((address, 64), strict=False))


def client_behind(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """Return the address of the client: the peer's, or the last one that is not a trusted proxy's.

    `forwarded` is `X-Forwarded-For`: each proxy appends the address of its client. Everything to the left of the first
    that is not trusted was written by that one, and could be forged.
    """
    address = address_in(peer)
    if address is None:
        return peer
    for entry in reversed(forwarded.split(",")):
        if not is_among(address, trusted):
            break
        named = address_in(entry)
        if named is None:
            break
        address = named
    return str(address)


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
