"""Routes for training prompts."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.permissions import Reader
from backend.prompts import service
from backend.runs import repository as runs
from bapo.api.prompts import PromptDetail, PromptFilter, PromptInRuns, PromptPage

router = new_router("prompts")


class PromptQuery(PromptFilter):
    """A filter and a page."""

    cursor: Annotated[str | None, Query(max_length=4_000, description="`next_cursor` of the previous page.")] = None
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Number of prompts to skip, for numbered pages.")] = 0
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100


@router.get("/runs/{run_id}/prompts", summary="List training prompts")
def list_prompts(
    _: Reader, session: DbSession, context: ContextOf, run_id: str, query: Annotated[PromptQuery, Query()]
) -> PromptPage:
    """List prompts with their visits: step, source, number of correct responses and whether they were trained on."""
    page = service.PageOf(query.cursor, query.offset, query.limit)
    return service.list_prompts(session, context, runs.get(session, run_id), query, page)


@router.get("/runs/{run_id}/prompts/{prompt_id:path}", summary="Get a training prompt")
def get_prompt(
    _: Reader,
    session: DbSession,
    context: ContextOf,
    run_id: str,
    prompt_id: str,
    wanted: Annotated[PromptFilter, Query()],
) -> PromptDetail:
    """All visits of a prompt, and its neighbours in the filtered list."""
    return service.one_prompt(session, context, runs.get(session, run_id), prompt_id, wanted)


@router.get("/prompts/{prompt_id:path}", summary="Get a training prompt across runs")
def get_prompt_in_runs(_: Reader, session: DbSession, prompt_id: str) -> PromptInRuns:
    """Visits of a prompt in the twenty newest runs that saw it."""
    return service.in_runs(session, prompt_id)
