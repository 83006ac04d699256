"""Answers in JSON at addresses of the dashboard's own; what goes wrong is said as the API says it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import httpx
import orjson
from starlette.responses import Response

from bapo.api.base import ErrorBody
from bapo.client import ApiError
from frontend.request.session import REQUEST_ID


def json_answer(content: object, status: int = 200) -> Response:
    """Return the content as JSON."""
    return Response(orjson.dumps(content), status_code=status, media_type="application/json")


def problem(status: int, code: str, remedy: str, *, field: str | None = None, value: Any = None) -> Response:
    """Return what is wrong and how to fix it."""
    body = ErrorBody(code=code, field=field, value=value, remedy=remedy, request_id=REQUEST_ID.get("none"))
    return json_answer(body.model_dump(mode="json"), status)


def malformed_call(error: Exception) -> Response:
    """Return what is wrong with a call of a callback."""
    return problem(400, "malformed_call", str(error))


def unreachable() -> Response:
    """Return the problem that the backend does not answer."""
    return problem(502, "backend_unreachable", "the BAPO server does not answer: try again in a moment")


async def answered(answer: Awaitable[Response]) -> Response:
    """Return the answer, or the backend's refusal."""
    try:
        return await answer
    except ApiError as error:
        return json_answer(error.body.model_dump(mode="json"), error.status)
    except httpx.TransportError:
        return unreachable()
