"""Connections to addresses that users name: to a checked address, and within a fixed deadline."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

import httpcore

from backend.outbound.addresses import AddressPolicy, Destination, Resolver, permitted_addresses, resolve


class DeadlineError(Exception):
    """The time is over."""


class SlowError(Exception):
    """The other side sends too little."""


class Pace:
    """Bounds how slowly the other side may send: less than `least_bytes` in `seconds` of waiting for it is too slow."""

    def __init__(self, seconds: float, least_bytes: int) -> None:
        self._seconds, self._least_bytes = seconds, least_bytes
        self._waited, self._received = 0.0, 0

    def check(self, waited: float, received: int) -> None:
        """Count what has come in. Raises SlowError where it was too little."""
        self._waited += waited
        self._received += received
        if self._waited < self._seconds:
            return
        if self._received < self._least_bytes:
            raise SlowError
        self._waited, self._received = 0.0, 0


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes share one deadline: who drips bytes gains nothing by it."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float, pace: Pace | None) -> None:
        self._stream = stream
        self._deadline = deadline
        self._pace = pace

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        began = time.monotonic()
        content = self._stream.read(max_bytes, _left(self._deadline, timeout))
        # An end is no slowness.
        if self._pace is not None and content:
            self._pace.check(time.monotonic() - began, len(content))
        return content

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline, timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(self._deadline, timeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline, self._pace)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _CheckedBackend(httpcore.NetworkBackend):
    """Resolves and checks the name itself, and connects to the very address that it checked."""

    def __init__(
        self, target: Destination, policy: AddressPolicy, resolver: Resolver, deadline: float, pace: Pace | None
    ) -> None:
        self._target = target
        self._policy = policy
        self._resolver = resolver
        self._deadline = deadline
        self._pace = pace
        self._backend = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = permitted_addresses(self._target, self._policy, self._resolver)
        for number, address in enumerate(addresses, start=1):
            try:
                # Those that are left share what is left of the time.
                seconds = _left(self._deadline, timeout) / (len(addresses) - number + 1)
                stream = self._backend.connect_tcp(str(address), port, seconds)
                return _Stream(stream, self._deadline, self._pace)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("there is at least one address")


def _left(deadline: float, timeout: float | None) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise DeadlineError
    return seconds if timeout is None else min(seconds, timeout)


@cache
def _trusted() -> ssl.SSLContext:
    # Reading the certificates takes longer than a message.
    return ssl.create_default_context()


def connection_to(
    target: Destination,
    policy: AddressPolicy,
    deadline: float,
    *,
    resolver: Resolver = resolve,
    ssl_context: ssl.SSLContext | None = None,
    pace: Pace | None = None,
) -> httpcore.ConnectionPool:
    """Return connections for one request, which raises DeadlineError after `deadline` (`time.monotonic`).

    With a pace, it raises SlowError where the other side falls behind it.

    It raises ForbiddenAddressError where the name leads to an address that the policy forbids.
    """
    backend = _CheckedBackend(target, policy, resolver, deadline, pace)
    return httpcore.ConnectionPool(ssl_context=ssl_context or _trusted(), network_backend=backend)


def url_of(target: Destination) -> httpcore.URL:
    """Return the parsed parts, so that the address is not parsed again with another result."""
    return httpcore.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.target.encode()
    )
