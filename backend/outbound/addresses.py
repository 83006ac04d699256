"""Checks the addresses that people name for the server to call: not this machine, its network, or a cloud's metadata.

The name is resolved here, every address behind it is checked, and the connection goes to an address that was checked
(`backend.outbound.connection`), so that a name cannot answer one thing to the check and another to the connection.
This is repeated at every try.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple
from urllib.parse import urlsplit

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolver = Callable[[str, int], Sequence[str]]
"""The addresses behind a name, as texts; raises OSError."""

DEFAULT_PORTS = {"http": 80, "https": 443}
LOWEST_PORT = 1024
"""Below it only the two of the web."""
MAX_ADDRESSES = 16
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)")
_TARGET = re.compile(r"[!-\[\]-~]*")
"""Printable ASCII without spaces and backslashes, which readers of addresses take differently."""

_EMBEDDING: tuple[tuple[IPv6Network, int], ...] = (
    # Offset of an embedded IPv4 address from the right.
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("::ffff:0:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
    (IPv6Network("::/96"), 0),
)
_NEVER: tuple[Network, ...] = (
    *map(IPv4Network, ("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32")),
    # Metadata and host services of clouds that are not in a range of their own.
    *map(IPv4Network, ("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32")),
    *map(IPv6Network, ("::/128", "fe80::/10", "ff00::/8", "fec0::/10", "fd00:ec2::254/128", "fd20:ce::254/128")),
    # Tunnels, whose other end is written in the address or chosen by a third party.
    *map(IPv6Network, ("2001::/32", "64:ff9b:1::/48")),
)
"""Not even where a deployment permits a name or a network around it."""


class ForbiddenAddressError(Exception):
    """The server must not go there; the text says why, and what to do."""


class Destination(NamedTuple):
    """An address, read once."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query."""

    @property
    def authority(self) -> str:
        """Value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


@dataclass(frozen=True)
class AddressPolicy:
    """Permitted addresses: those that the deployment names, and public ones unless it `is_closed`."""

    names: frozenset[str] = frozenset()
    """Hosts that may be inside; `*.example.org` stands for all beneath."""
    networks: tuple[Network, ...] = ()
    setting: str = "BAPO_WEBHOOK_ALLOWED_HOSTS"
    """Setting with which an administrator permits more."""
    is_closed: bool = False
    """True if a public address has to be named too."""

    @classmethod
    def of(cls, text: str) -> AddressPolicy:
        """Parse `hooks.internal, *.corp.example, 10.1.0.0/16`. Raises ValueError for anything else."""
        names, networks = set(), []
        for part in (part.strip().lower() for part in text.split(",")):
            if not part:
                continue
            if re.fullmatch(r"[0-9.]+(/[0-9]+)?|[0-9a-f:.]*:[0-9a-f:.]*(/[0-9]+)?", part):
                networks.append(ipaddress.ip_network(part))
            elif _NAME.fullmatch(part.removeprefix("*.")):
                names.add(part)
            else:
                raise ValueError(f"{part!r} is neither a host name nor a network such as 10.1.0.0/16")
        return cls(frozenset(names), tuple(networks))

    @classmethod
    def closed(cls, text: str, setting: str) -> AddressPolicy:
        """Permit only what the text names; `*` in it represents every public address. Raises ValueError."""
        parts = [part.strip() for part in text.split(",")]
        policy = cls.of(",".join(part for part in parts if part != "*"))
        return replace(policy, setting=setting, is_closed="*" not in parts)

    @property
    def permits_nothing(self) -> bool:
        """True if the server may call no host."""
        return self.is_closed and not self.names and not self.networks

    @property
    def named(self) -> list[str]:
        """Names and networks that the deployment permits, and `*` if public addresses are permitted."""
        networks = [str(each[0] if each.num_addresses == 1 else each) for each in self.networks]
        return [*([] if self.is_closed else ["*"]), *sorted(self.names), *networks]

    def permits_name(self, host: str) -> bool:
        """Return whether the deployment vouches for the name, wherever it leads."""
        parents = (f"*.{host.split('.', depth)[depth]}" for depth in range(1, host.count(".") + 1))
        return host in self.names or any(parent in self.names for parent in parents)

    def check_name(self, host: str) -> None:
        """Raise ForbiddenAddressError for a name that no address behind it can permit, before it is resolved."""
        if self.is_closed and not self.networks and not self.permits_name(host):
            raise ForbiddenAddressError(f"{host} is not permitted here: {self._remedy}")

    @property
    def _remedy(self) -> str:
        return f"an administrator can permit a host or network in {self.setting}"

    def check(self, host: str, address: Address) -> None:
        """Raise ForbiddenAddressError unless the server may call this host at this address."""
        inner = embedded(address)
        # What an address carries within it counts, whichever way it is written.
        if any(each in network for each in (address, inner) for network in _NEVER if each.version == network.version):
            raise ForbiddenAddressError(f"{_where(host, address)} is never permitted")
        if self.permits_name(host) or any(inner in network for network in self.networks):
            return
        if self.is_closed:
            raise ForbiddenAddressError(f"{_where(host, address)} is not permitted here: {self._remedy}")
        if address != inner or not inner.is_global or inner.is_multicast or inner.is_reserved:
            raise ForbiddenAddressError(f"{_where(host, address)} is not a public address: {self._remedy}")


def _where(host: str, address: Address) -> str:
    return str(address) if host == str(address) else f"{host} resolves to {address}, which"


def embedded(address: Address) -> Address:
    """Return the IPv4 address within an IPv6 one, where there is one, else the address itself."""
    if isinstance(address, IPv6Address):
        for network, shift in _EMBEDDING:
            if address in network and int(address) > 1:
                return IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
    return address


def destination(url: str) -> Destination:
    """Read an address. Raises ForbiddenAddressError for one that is not plainly http or https."""
    if not _TARGET.fullmatch(url):
        raise ForbiddenAddressError(
            "an address may hold printable ASCII only, no spaces or backslashes: write names in other alphabets as "
            "xn--…, and everything else with %"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ForbiddenAddressError(f"this is not an address: {error}") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise ForbiddenAddressError("give an address that begins with https:// or http://")
    if "@" in parts.netloc:
        raise ForbiddenAddressError("leave out user name and password")
    if parts.fragment or "#" in url:
        raise ForbiddenAddressError("leave out # and what follows: it is never sent")
    number = DEFAULT_PORTS[parts.scheme] if port is None else port
    if number not in DEFAULT_PORTS.values() and number < LOWEST_PORT:
        raise ForbiddenAddressError(f"port {number} is reserved for other services: use 80, 443 or a port from 1024")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Destination(parts.scheme, _host(parts.hostname or "", parts.netloc), number, target)


def _host(host: str, netloc: str) -> str:
    if netloc.startswith("["):
        try:
            return str(IPv6Address(host))
        except ValueError:
            raise ForbiddenAddressError("this is not an IPv6 address: write it as in [2001:db8::1]") from None
    name = host.removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        # 0x7f000001, 2130706433, 0177.0.0.1 and 127.1 are addresses to a resolver, and names to many checks.
        try:
            return str(IPv4Address(name))
        except ValueError:
            raise ForbiddenAddressError("write an IPv4 address as four decimal numbers") from None
    if len(name) > 253 or not _NAME.fullmatch(name):
        raise ForbiddenAddressError("this is not a host name: use letters, digits, hyphens and dots")
    return name


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses behind a name, by the system's resolver. Raises OSError."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def permitted_addresses(target: Destination, policy: AddressPolicy, resolver: Resolver = resolve) -> list[Address]:
    """Return the addresses that may be called. Raises ForbiddenAddressError if any is forbidden."""
    try:
        literal: Address | None = ipaddress.ip_address(target.host)
    except ValueError:
        literal = None
    if literal is not None:
        addresses = [literal]
    else:
        try:
            texts = resolver(target.host, target.port)
            # A zone, as in fe80::1%eth0, belongs to addresses that are forbidden anyhow.
            addresses = [ipaddress.ip_address(text.partition("%")[0]) for text in texts]
        except (OSError, UnicodeError) as error:
            raise ForbiddenAddressError(f"the name {target.host} does not resolve: {error}") from None
    if not addresses:
        raise ForbiddenAddressError(f"the name {target.host} does not resolve")
    for address in addresses:
        policy.check(target.host, address)
    return list(dict.fromkeys(addresses))[:MAX_ADDRESSES]
