"""POST /live/rendered: responses of models as trees of elements, which open pages draw."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from bapo.answer_text import Span
from bapo.observe.group import MOST_CHARACTERS
from frontend.components.markdown import response_tree
from frontend.request.answers import json_answer, problem

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
