"""Answers that open pages fetch by themselves, bypassing Dash: news, charts, rendered responses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from bapo.answer_text import Span
from bapo.client import AsyncClient
from bapo.observe.group import MOST_CHARACTERS
from frontend.components.markdown import response_tree
from frontend.pages.boards.page import board_news
from frontend.pages.run.chart_panel import charts_answer
from frontend.pages.run.live import shared_news
from frontend.pages.run.migration import flows_answer, migration_answer
from frontend.pages.runs.rows import rows
from frontend.request.answers import answered, json_answer, problem
from frontend.request.session import Api

LIVE_PREFIX = "/live/"
RUN_LIST = "/live/runs"
"""Rows of the run list."""
PARTS: Mapping[str, Callable[[AsyncClient, str, Mapping[str, str]], Awaitable[Any]]] = {
    "migration": migration_answer,
    "flows": flows_answer,
}
"""Answers about a run besides its news, by the last part of the address."""
_BOARD = re.compile(r"/live/boards/(?P<board_id>[^/]+)")
_RUN = re.compile(r"/live/runs/(?P<run_id>[^/]+)(?:/(?P<part>[a-z-]+))?")


async def live(request: Request, api: Api) -> Response:
    """Answer GET /live/runs/{run_id} with a run's news; a further part of the address selects another answer about it.

    GET /live/boards/{board_id}: a board, and those of its panels that show something else by now. POST /live/rendered:
    responses as elements.
    """
    if request.url.path == RUN_LIST and request.method == "GET":
        return await answered(_answer(rows(api.client(), request.query_params)))
    if request.url.path == RENDERED and request.method == "POST":
        return await rendered(request)
    board = _BOARD.fullmatch(request.url.path)
    if board is not None and request.method == "GET":
        return await answered(_answer(board_news(api.client(), board["board_id"], request.query_params)))
    run = _RUN.fullmatch(request.url.path)
    if run is None or run["part"] not in (None, "charts", *PARTS) or request.method != "GET":
        return problem(404, "not_found", "there is nothing at this address")
    after = request.query_params.get("after", "0")
    if not after.isdigit():
        return problem(422, "invalid", "give a step, from 0", field="after", value=after)
    run_id, part, query = run["run_id"], run["part"], request.query_params
    match part:
        case None:
            found = shared_news(api, run_id, query)
        case "charts":
            found = charts_answer(api, run_id, query)
        case _:
            found = _kept(api, run_id, part, query)
    return await answered(_answer(found))


async def _kept(api: Api, run_id: str, part: str, query: Mapping[str, str]) -> Any:
    """Return what follows from a run's records alone; made once for all who may see the run, until it records
    something."""
    client = api.client()
    run = await client.run(run_id)
    key = (run_id, part, run.revision, *sorted(query.items()))
    return await api.drawings.get(key, lambda: PARTS[part](client, run_id, query))


async def _answer(content: Awaitable[object]) -> Response:
    return json_answer(await content)


RENDERED = "/live/rendered"
MOST_TEXTS = 256
MOST_LETTERS = 400_000
"""Letters of all texts together: a second or so of rendering."""


class ResponsePiece(BaseModel):
    """A response, or a piece of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    text: str = Field(max_length=2 * MOST_CHARACTERS)
    answer: Span | None = None
    """Place of the answer in the text."""


class ResponsePieces(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    texts: Sequence[ResponsePiece] = Field(max_length=MOST_TEXTS)


async def rendered(request: Request) -> Response:
    """Answer with one tree per text."""
    try:
        given = ResponsePieces.model_validate_json(await request.body())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        return problem(422, "invalid", f"{first['msg']}: send {{texts: [{{text, answer}}]}}", field=field)
    num_letters = sum(len(piece.text) for piece in given.texts)
    if num_letters > MOST_LETTERS:
        return problem(
            413, "too_large", f"send at most {MOST_LETTERS} letters at a time", field="texts", value=num_letters
        )
    # In a thread: other pages must not wait for a long response.
    return json_answer(await asyncio.to_thread(lambda: [response_tree(each.text, each.answer) for each in given.texts]))
