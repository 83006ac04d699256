"""Errors between a client and a server: one base class, with a code, the field, its value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import ValidationError

from bapo.api.base import ErrorBody, FieldProblem
from bapo.client.connection_failures import advice_for
from bapo.client.proxies import VIA

PASSING_STATUSES = frozenset({429, 502, 503, 504})
"""Too many requests, or a service between here and the database is away."""


class BapoError(Exception):
    """A call failed: `ApiError` (the server refuses), `UnreachableError` (it is away) or `InvalidRequestError`."""

    code: str
    """Stable and machine-readable, such as `invalid_config`, `not_found`, `unreachable`."""
    remedy: str
    """The problem and its remedy, in words."""
    field: str | None = None
    """Rejected field of the request; `None` if the error is not about a field."""
    value: Any = None
    """Rejected value of that field."""
    problems: Sequence[FieldProblem] = ()
    """Every problem to correct; the first is repeated in `field`, `value` and `remedy`."""
    request_id: str | None = None
    """Identifier of the request in the server's log; `None` if the server gave none."""
    is_passing = False
    """True if the same request may succeed in a moment."""


class ApiError(BapoError):
    """The server refused a request; `body` says why and what to do."""

    def __init__(self, status: int, body: ErrorBody) -> None:
        self.status = status
        self.body = body
        self.code, self.remedy, self.request_id = body.code, body.remedy, body.request_id
        self.field, self.value, self.problems = body.field, body.value, body.problems
        self.is_passing = status in PASSING_STATUSES
        given = f"{body.field} = {body.value!r}: " if body.field else ""
        super().__init__(f"{given}{body.remedy} (HTTP {status} {body.code}, request {body.request_id})")

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, ErrorBody]]:
        return ApiError, (self.status, self.body)


class UnreachableError(BapoError, httpx.TransportError):
    """No answer came: the server is down, the address wrong, or the connection was cut."""

    code = "unreachable"
    is_passing = True
    is_lasting: bool
    """True if a person has to change something first, such as the server's certificate."""

    def __init__(self, address: str, cause: str) -> None:
        self.address = address
        self.cause = cause
        self.remedy, self.is_lasting = advice_for(address, cause)
        super().__init__(f"{address} cannot be reached ({cause}): {self.remedy}")

    def __reduce__(self) -> tuple[type[UnreachableError], tuple[str, str]]:
        return UnreachableError, (self.address, self.cause)


class InvalidRequestError(BapoError):
    """The address or the token is malformed: no request was sent."""

    code = "invalid_request"

    def __init__(self, field: str, value: Any, remedy: str) -> None:
        self.field, self.value, self.remedy = field, value, remedy
        super().__init__(f"{field} = {value!r}: {remedy}")

    def __reduce__(self) -> tuple[type[InvalidRequestError], tuple[str, Any, str]]:
        assert self.field is not None
        return InvalidRequestError, (self.field, self.value, self.remedy)


def check_address(url: str) -> None:
    """Raise InvalidRequestError if the text is no address of a server."""
    try:
        parts = httpx.URL(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.host) and not (parts.query or parts.fragment)
        is_one = is_one and "%" not in parts.netloc.decode() and (parts.port or 1) < 65_536
    except (httpx.InvalidURL, ValueError):
        is_one = False
    if not is_one:
        raise InvalidRequestError("server", url, "is not an address: give one such as https://bapo.example.org")


def check_secret(secret: str) -> None:
    """Raise InvalidRequestError for a token that no server has made: a header takes no other characters."""
    if not (secret.isascii() and secret.isprintable()) or " " in secret:
        raise InvalidRequestError(
            "token", "…", "holds a space, a line break or a letter that no token has: copy it again, and nothing else"
        )


def error_of(response: httpx.Response) -> ApiError:
    """Return the error of a response with a status of at least 300, also if a proxy answered."""
    try:
        body = ErrorBody.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        status = f"{response.status_code} {response.reason_phrase}".strip()
        return _from_elsewhere(response, f"http_{response.status_code}", status)
    return ApiError(response.status_code, body)


def not_readable(response: httpx.Response) -> ApiError:
    """Return the error of a successful answer that is not from a BAPO server."""
    what = response.headers.get("Content-Type", "").partition(";")[0] or "nothing"
    return _from_elsewhere(response, "unreadable_answer", f"with {what} that this version of bapo does not read")


def _from_elsewhere(response: httpx.Response, code: str, said: str) -> ApiError:
    way = response.extensions.get(VIA)
    remedy = f"{response.request.url.host} answered {said}: check that the address is that of a BAPO server"
    remedy += " and that the server is up" if not response.is_success else " of this version"
    if way is not None:
        remedy += f", and that the proxy lets requests to it pass ({way})"
    return ApiError(
        response.status_code,
        ErrorBody(code=code, remedy=remedy, request_id=response.headers.get("X-Request-ID", "none")),
    )
