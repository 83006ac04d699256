"""Answers that open pages fetch by themselves, bypassing Dash."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import orjson
from starlette.requests import Request
from starlette.responses import Response

from bapo.api.base import ErrorBody
from bapo.client import ApiError, AsyncClient
from frontend.pages.run.live import news
from frontend.pages.run.migration import flows_answer, migration_answer
from frontend.pages.runs.live import rows
from frontend.session import Api

LIVE_PREFIX = "/live/"
RUN_LIST = "/live/runs"
"""Rows of the run list."""
ANSWERS: Mapping[str | None, Callable[[AsyncClient, str, Mapping[str, str]], Awaitable[Any]]] = {
    None: news,
    "migration": migration_answer,
    "flows": flows_answer,
}
"""What a page can ask of a run, by the last part of the address."""
_RUN = re.compile(r"/live/runs/(?P<run_id>[^/]+)(?:/(?P<part>[a-z-]+))?")


async def live(request: Request, api: Api) -> Response:
    """Answers GET /live/runs/{run_id} with what is new of a run; with a further part, with something else of it."""
    if request.url.path == RUN_LIST and request.method == "GET":
        return await _answered(rows(api.client(), request.query_params))
    match = _RUN.fullmatch(request.url.path)
    if match is None or match["part"] not in ANSWERS or request.method != "GET":
        return _answer({"code": "not_found", "remedy": "there is nothing at this address"}, 404)
    after = request.query_params.get("after", "0")
    if not after.isdigit():
        return _answer({"code": "invalid", "field": "after", "value": after, "remedy": "give a step, from 0"}, 422)
    return await _answered(ANSWERS[match["part"]](api.client(), match["run_id"], request.query_params))


async def _answered(content: Awaitable[object]) -> Response:
    try:
        return _answer(await content)
    except ApiError as error:
        return _answer(error.body.model_dump(mode="json"), error.status)
    except httpx.TransportError:
        body = ErrorBody(code="backend_unreachable", remedy="the BAPO server does not answer", request_id="none")
        return _answer(body.model_dump(mode="json"), 502)


def _answer(content: object, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status_code=status, media_type="application/json")
