"""Sends one message once: to a checked address, in bounded time, without following redirects."""

from __future__ import annotations

import ssl
import time
from dataclasses import dataclass

import httpcore

from backend.outbound.addresses import AddressPolicy, ForbiddenAddressError, Resolver, destination, resolve
from backend.outbound.connection import DeadlineError, connection_to, url_of

TRY_SECONDS = 10.0
"""A receiver that has not answered by then has not taken the message."""
MAX_RESPONSE_BYTES = 4_096
"""Maximum number of bytes of the answer that are read."""
MAX_EXCERPT_CHARACTERS = 500
GONE = 410


@dataclass(frozen=True)
class Outcome:
    """Outcome of a try."""

    status_code: int | None
    response: str | None
    problem: str | None
    """`None` if the message was taken."""
    seconds: float
    is_unreachable: bool = False
    """True if the receiver did not answer at all: another message would fail as well."""

    @property
    def is_gone(self) -> bool:
        """The receiver wants no more messages."""
        return self.status_code == GONE


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
    """Send a message once."""
    begin = time.monotonic()

    def unreachable(problem: str) -> Outcome:
        return Outcome(None, None, problem, time.monotonic() - begin, is_unreachable=True)

    try:
        target = destination(url)
        sent = {"Host": target.authority, "Connection": "close", **headers}
        with (
            connection_to(target, policy, begin + try_seconds, resolver=resolver, ssl_context=ssl_context) as pool,
            pool.stream("POST", url_of(target), headers=list(sent.items()), content=content) as answer,
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
    except (DeadlineError, httpcore.TimeoutException):
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
