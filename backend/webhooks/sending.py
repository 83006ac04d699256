"""Sends one message once: to a checked address, in bounded time, without following redirects."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpcore

from backend.kit.outbound_addresses import (
    AddressPolicy,
    Destination,
    ForbiddenAddressError,
    Resolver,
    destination,
    permitted_addresses,
    resolve,
)

TRY_SECONDS = 10.0
"""A receiver that has not answered by then has not taken the message."""
MAX_RESPONSE_BYTES = 4_096
"""Of the answer that are read."""
MAX_EXCERPT_CHARACTERS = 500
GONE = 410


@dataclass(frozen=True)
class Outcome:
    """Outcome of a try."""

    status_code: int | None
    response: str | None
    problem: str | None
    """None where the message was taken."""
    seconds: float
    is_unreachable: bool = False
    """The receiver did not answer at all: another message would fare no better."""

    @property
    def is_gone(self) -> bool:
        """The receiver wants no more messages."""
        return self.status_code == GONE


class _Timeout(Exception):  # noqa: N818 - not an error of ours
    """The time of a try is over."""


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes share one deadline: a receiver that drips bytes gains nothing."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._deadline))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(self._deadline))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(self._deadline)), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _CheckedBackend(httpcore.NetworkBackend):
    """Resolves and checks the name itself, and connects to the very address that it checked."""

    def __init__(self, target: Destination, policy: AddressPolicy, resolver: Resolver, deadline: float) -> None:
        self._target = target
        self._policy = policy
        self._resolver = resolver
        self._deadline = deadline
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
                seconds = _left(self._deadline) / (len(addresses) - number + 1)
                return _Stream(self._backend.connect_tcp(str(address), port, seconds), self._deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses):
                    raise
        raise AssertionError("there is at least one address")


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise _Timeout
    return seconds


@cache
def _trusted() -> ssl.SSLContext:
    # Reading the certificates takes longer than a message.
    return ssl.create_default_context()


def send(
    url: str,
    headers: dict[str, str],
    content: bytes,
    policy: AddressPolicy,
    *,
    resolver: Resolver = resolve,
    try_seconds: float = TRY_SECONDS,
    ssl_context: ssl.SSLContext | None = None,
) -> Outcome:
    """POST a message once."""
    begin = time.monotonic()

    def unreachable(problem: str) -> Outcome:
        return Outcome(None, None, problem, time.monotonic() - begin, is_unreachable=True)

    try:
        target = destination(url)
        backend = _CheckedBackend(target, policy, resolver, begin + try_seconds)
        # The parts, not the text: nobody reads the address a second time and otherwise.
        address = httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.target.encode()
        )
        sent = {"Host": target.authority, "Connection": "close", **headers}
        with (
            httpcore.ConnectionPool(ssl_context=ssl_context or _trusted(), network_backend=backend) as pool,
            pool.stream("POST", address, headers=list(sent.items()), content=content) as answer,
        ):
            response = b""
            for part in answer.iter_stream():
                response += part
                if len(response) >= MAX_RESPONSE_BYTES:
                    break
            excerpt = _excerpt(response[:MAX_RESPONSE_BYTES])
            return Outcome(answer.status, excerpt, _problem(answer.status), time.monotonic() - begin)
    except ForbiddenAddressError as error:
        return unreachable(str(error))
    except (_Timeout, httpcore.TimeoutException):
        return unreachable(f"no answer within {try_seconds:g} s: answer first, work later")
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        return unreachable(f"the connection failed: {error or type(error).__name__}")


def _problem(status: int) -> str | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"answered {status}: redirects are not followed, give the final address"
    if status == GONE:
        return "answered 410: it no longer accepts messages"
    return f"answered {status}: any 2xx confirms the message"


def _excerpt(response: bytes) -> str | None:
    text = response.decode("utf-8", "replace").replace("\x00", "\ufffd").strip()
    return text[:MAX_EXCERPT_CHARACTERS] or None
