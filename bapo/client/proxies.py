"""The proxy between this machine and a server, as the environment names it.

httpx would read the variables itself. It raises for values that other programs take (a SOCKS proxy without a further
package, `[::1]` in `NO_PROXY`), and cannot say which variable a connection failed by.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NoReturn
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx

from bapo.client.servers import is_loopback

PORTS: Mapping[str, int] = {"http": 80, "https": 443}
SOCKS = ("socks5", "socks5h")
NEEDS_PACKAGE = "needs the package socksio"
IS_NO_ADDRESS = "is not the address of a proxy"
VIA = "bapo_via"
"""Among the extensions of a response: the proxy that it came through, for messages."""


@dataclass(frozen=True)
class Proxy:
    """A proxy, and the variable that names it."""

    variable: str
    address: str

    def __str__(self) -> str:
        """Return the address without its password, for messages."""
        scheme, _, rest = self.address.rpartition("://")
        shown = f"…@{rest.rpartition('@')[2]}" if "@" in rest else rest
        return f"{self.variable} = {scheme}://{shown}" if scheme else f"{self.variable} = {shown}"

    def problem(self) -> str | None:
        """Return why no connection can be made through it; None where one can be tried."""
        try:
            parts = urlsplit(self.address)
            is_whole = bool(parts.hostname) and parts.scheme in (*PORTS, *SOCKS)
            _ = parts.port
            httpx.Proxy(self.address)
        except (ValueError, httpx.InvalidURL):
            is_whole = False
        if not is_whole:
            return f"{self} {IS_NO_ADDRESS}"
        if parts.scheme in SOCKS and find_spec("socksio") is None:
            return f"{self} {NEEDS_PACKAGE}"
        return None


def proxy_for(url: str) -> Proxy | None:
    """Return the proxy for requests to this address; None for this machine's own services and for `NO_PROXY`."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    found = getproxies()
    for kind in (parts.scheme, "all"):
        if address := found.get(kind, "").strip():
            if bypasses(found.get("no", ""), host, parts.port or PORTS.get(parts.scheme)):
                return None
            return Proxy(_variable(kind), address if "://" in address else f"http://{address}")
    return None


def _variable(kind: str) -> str:
    name = f"{kind}_proxy"
    named = next((each for each in (name, name.upper()) if os.environ.get(each)), None)
    return named or f"the system's {kind} proxy"


def bypasses(no_proxy: str, host: str, port: int | None) -> bool:
    """Return whether `NO_PROXY` lists a host: by name, domain, `*.domain`, address, network or `*`, each also with a
    port.

    An entry that can be read in none of these ways concerns no host.
    """
    return any(_concerns(entry.strip().lower(), host.lower(), port) for entry in no_proxy.split(",") if entry.strip())


_IN_BRACKETS = re.compile(r"\[([^][]+)\](?::(\d+|\*))?")
"""An IPv6 address, with a port or without."""


def _concerns(entry: str, host: str, port: int | None) -> bool:
    entry = entry.rpartition("://")[2]
    if entry == "*":
        return True
    in_brackets = _IN_BRACKETS.fullmatch(entry)
    if in_brackets is not None:
        entry, wanted = in_brackets.groups()
        return wanted in (None, "*", str(port)) and _concerns(entry, host, port)
    try:
        network = ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name, colon, wanted = entry.rpartition(":")
        if not colon:
            domain = entry.removeprefix("*").lstrip(".")
            return bool(domain) and (host == domain or host.endswith(f".{domain}"))
        return wanted in ("*", str(port)) and _concerns(name, host, port)
    try:
        return ipaddress.ip_address(host) in network
    except ValueError:
        return False


def _with_proxy(error: httpx.TransportError, proxy: Proxy) -> httpx.TransportError:
    return type(error)(f"through {proxy}: {error or type(error).__name__}")


class ProxiedTransport(httpx.HTTPTransport):
    """Sends requests through a proxy; failures and answers name it."""

    def __init__(self, proxy: Proxy, **options: object) -> None:
        super().__init__(proxy=httpx.Proxy(proxy.address), trust_env=False, **options)  # type: ignore[arg-type]
        self._proxy_named = proxy

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError."""
        try:
            response = super().handle_request(request)
        except httpx.TransportError as error:
            raise _with_proxy(error, self._proxy_named) from error
        response.extensions[VIA] = str(self._proxy_named)
        return response


class AsyncProxiedTransport(httpx.AsyncHTTPTransport):
    """The asynchronous `ProxiedTransport`."""

    def __init__(self, proxy: Proxy, **options: object) -> None:
        super().__init__(proxy=httpx.Proxy(proxy.address), trust_env=False, **options)  # type: ignore[arg-type]
        self._proxy_named = proxy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises httpx.TransportError."""
        try:
            response = await super().handle_async_request(request)
        except httpx.TransportError as error:
            raise _with_proxy(error, self._proxy_named) from error
        response.extensions[VIA] = str(self._proxy_named)
        return response


class BlockedTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends nothing: something on this machine has to change first.

    Each request fails like one to a server that is away, so that code that waits for a server needs no other case.
    """

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def handle_request(self, _: httpx.Request) -> NoReturn:
        """Raise httpx.ConnectError."""
        raise httpx.ConnectError(self._problem)

    async def handle_async_request(self, _: httpx.Request) -> NoReturn:
        """Raise httpx.ConnectError."""
        raise httpx.ConnectError(self._problem)
