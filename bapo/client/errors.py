"""What can go wrong between a client and a server: one base class, with a code, the field, its value and the remedy."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import httpx
from pydantic import ValidationError

from bapo.api.base import ErrorBody, FieldProblem


class BapoError(Exception):
    """What keeps a call from its answer: `ApiError` (the server refuses) or `UnreachableError` (it is away)."""

    @property
    @abstractmethod
    def code(self) -> str:
        """Stable and machine-readable, such as `invalid_config`, `not_found`, `unreachable`."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What is wrong and what to do."""

    @property
    def field(self) -> str | None:
        """Which field of the request is meant, if one is."""
        return None

    @property
    def value(self) -> Any:
        """What that field held."""
        return None

    @property
    def problems(self) -> list[FieldProblem]:
        """Everything there is to mend; the first is repeated in `field`, `value` and `remedy`."""
        return []

    @property
    def request_id(self) -> str | None:
        """Under which the server's log tells more."""
        return None

    @property
    def is_passing(self) -> bool:
        """Whether the same request may be answered in a moment."""
        return False


class ApiError(BapoError):
    """The server refused a request; `body` says why and what to do."""

    def __init__(self, status: int, body: ErrorBody) -> None:
        self.status = status
        self.body = body
        given = f"{body.field} = {body.value!r}: " if body.field else ""
        super().__init__(f"{given}{body.remedy} (HTTP {status} {body.code}, request {body.request_id})")

    def __reduce__(self) -> tuple[type[ApiError], tuple[int, ErrorBody]]:
        return ApiError, (self.status, self.body)

    @property
    def code(self) -> str:
        return self.body.code

    @property
    def remedy(self) -> str:
        return self.body.remedy

    @property
    def field(self) -> str | None:
        return self.body.field

    @property
    def value(self) -> Any:
        return self.body.value

    @property
    def problems(self) -> list[FieldProblem]:
        return list(self.body.problems)

    @property
    def request_id(self) -> str | None:
        return self.body.request_id

    @property
    def is_passing(self) -> bool:
        return self.status in PASSING_STATUSES


PASSING_STATUSES = frozenset({429, 502, 503, 504})
"""Asked too often, or somebody on the way to the database is away."""


class UnreachableError(BapoError, httpx.TransportError):
    """No answer came: the server is down, the address wrong, or the connection was cut."""

    def __init__(self, address: str, cause: str) -> None:
        self.address = address
        self.cause = cause
        super().__init__(f"{address} cannot be reached ({cause}): {self.remedy}")

    def __reduce__(self) -> tuple[type[UnreachableError], tuple[str, str]]:
        return UnreachableError, (self.address, self.cause)

    @property
    def code(self) -> str:
        return "unreachable"

    @property
    def remedy(self) -> str:
        return "check the server's address and that it is up"

    @property
    def is_passing(self) -> bool:
        return True


def error_of(response: httpx.Response) -> ApiError:
    """The error that a response with a status of at least 300 stands for, also where a proxy answered."""
    try:
        body = ErrorBody.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        body = ErrorBody(
            code=f"http_{response.status_code}",
            remedy=f"{response.request.url.host} answered {response.status_code} {response.reason_phrase}: "
            "check that the address is that of a BAPO server and that the server is up",
            request_id=response.headers.get("X-Request-ID", "none"),
        )
    return ApiError(response.status_code, body)
