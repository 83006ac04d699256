"""Turns every error into one form: code, field, value, remedy, request ID."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from sqlalchemy.exc import DataError, InterfaceError, OperationalError
from starlette.exceptions import HTTPException

from bapo.api.base import ErrorBody, FieldProblem
from bapo.config import ConfigError, ConfigProblem
from bapo.config.error_messages import problems_said

LOG = logging.getLogger(__name__)

Row = TypeVar("Row")

MAX_VALUE_CHARACTERS = 500
"""A value is repeated up to this length."""

_CODES = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
_REMEDIES = {
    404: "there is nothing at this address: see /api/v1/openapi.json",
    405: "this address does not support this method: see /api/v1/openapi.json",
}


class Problem(HTTPException):
    """Raised anywhere in a request to refuse it."""

    def __init__(
        self,
        status: int,
        code: str,
        remedy: str,
        *,
        field: str | None = None,
        value: Any = None,
        problems: Sequence[FieldProblem] = (),
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, code, headers)
        self.code = code
        self.remedy = remedy
        self.field = field
        self.value = value
        self.problems = problems


TOO_DEEP = Problem(422, "invalid_request", "the body is nested too deeply: flatten it", field="body")
DATABASE_AWAY = Problem(503, "database_unavailable", "the database does not answer: try again in a moment")


def not_found(what: str, identifier: str) -> Problem:
    """Return 404: there is no such object, or none that the caller may see."""
    return Problem(404, "not_found", f"there is no {what} {identifier!r}: check the ID")


def existing(row: Row | None, what: str, identifier: str) -> Row:
    """Return the row of a query. Raises Problem 404 where there is none."""
    if row is None:
        raise not_found(what, identifier)
    return row


def invalid_config(error: ConfigError) -> Problem:
    """Return 422 with every problem of a config."""
    return Problem(
        422,
        "invalid_config",
        error.problems[0].remedy,
        field=error.problems[0].field,
        value=error.problems[0].value,
        problems=field_problems(error.problems),
    )


def field_problems(problems: Iterable[ConfigProblem]) -> list[FieldProblem]:
    """Return the problems or warnings of a config as the API shows them."""
    return [
        FieldProblem(field=problem.field, value=presentable(problem.value), remedy=problem.remedy)
        for problem in problems
    ]


def presentable(value: Any) -> Any:
    """Return the value as JSON where it is short and storable, else the beginning of its text."""
    try:
        if len(orjson.dumps(value)) <= MAX_VALUE_CHARACTERS:
            return value
    except TypeError:
        pass
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else text[:MAX_VALUE_CHARACTERS] + "…"


def problem_response(problem: Problem, request_id: str) -> Response:
    """Return the answer that refuses a request."""
    body = ErrorBody(
        code=problem.code,
        field=problem.field,
        value=presentable(problem.value),
        remedy=problem.remedy,
        problems=problem.problems,
        request_id=request_id,
    )
    return Response(
        body.model_dump_json(), status_code=problem.status_code, media_type="application/json", headers=problem.headers
    )


def validation_problem(error: RequestValidationError) -> Problem:
    """Return 422 naming each invalid field of a body or of the address."""
    # The first part says where the field is: in the body, in the query…
    findings: Any = [{**finding, "loc": finding["loc"][1:] or finding["loc"]} for finding in error.errors()]
    problems = field_problems(problems_said(findings))
    first = problems[0]
    return Problem(422, "invalid_request", first.remedy, field=first.field, value=first.value, problems=problems)


def _unstorable(error: Exception) -> Problem:
    cause = str(getattr(error, "orig", error)).strip().splitlines()[0]
    return Problem(422, "invalid_value", f"a value cannot be stored: {cause}")


def _allow(request: Request) -> dict[str, str]:
    """Return every method of an address: the router names those of the first of its routes only."""
    routes = [each for each in iter_route_contexts(request.app.routes) if each.path_regex.match(request.url.path)]
    return {"Allow": ", ".join(sorted({method for each in routes for method in each.methods or ()}))}


def request_id_of(request: Request) -> str:
    """Return the identifier that the answer and the log share."""
    return str(request.scope["state"]["request_id"])


def install(app: FastAPI) -> None:
    """Translate every exception that a route can raise."""

    def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if not isinstance(error, Problem):
            status = error.status_code
            headers = {**(error.headers or {}), **(_allow(request) if status == 405 else {})}
            code, remedy = _CODES.get(status, f"http_{status}"), _REMEDIES.get(status, str(error.detail))
            error = Problem(status, code, remedy, headers=headers)
        return problem_response(error, request_id_of(request))

    def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem_response(validation_problem(error), request_id_of(request))

    def on_unstorable(request: Request, error: Exception) -> Response:
        LOG.info("unstorable value", extra={"request_id": request_id_of(request)})
        return problem_response(_unstorable(error), request_id_of(request))

    def on_depth(request: Request, error: Exception) -> Response:
        return problem_response(TOO_DEEP, request_id_of(request))

    def on_database(request: Request, error: Exception) -> Response:
        assert isinstance(error, OperationalError | InterfaceError)
        request_id = request_id_of(request)
        LOG.warning("the database failed", extra={"request_id": request_id, "cause": str(error.orig).strip()})
        return problem_response(DATABASE_AWAY, request_id)

    def on_config(request: Request, error: Exception) -> Response:
        assert isinstance(error, ConfigError)
        return problem_response(invalid_config(error), request_id_of(request))

    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(DataError, on_unstorable)
    app.add_exception_handler(UnicodeEncodeError, on_unstorable)
    app.add_exception_handler(RecursionError, on_depth)
    app.add_exception_handler(OperationalError, on_database)
    app.add_exception_handler(InterfaceError, on_database)
    app.add_exception_handler(ConfigError, on_config)
