"""Per-prompt history."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.context import DbSession, new_router
from backend.cursors import decode_texts, encode
from backend.errors import not_found
from backend.models import Run
from backend.permissions import Reader
from backend.prompts import repository
from backend.runs import repository as runs
from bapo.api import PromptPage, PromptSummary

router = new_router("prompts")


def _summary(run: Run, visits: repository.Visits) -> PromptSummary:
    group_size = run.config["rollout"]["group_size"]
    return PromptSummary(
        prompt_id=visits.prompt_id,
        num_visits=len(visits.steps),
        first_accuracy=visits.num_correct[0] / group_size,
        last_accuracy=visits.num_correct[-1] / group_size,
        last_step=visits.steps[-1],
        steps=visits.steps,
        num_correct=visits.num_correct,
        sources=visits.sources,
    )


@router.get("/runs/{run_id}/prompts", summary="Training prompts with their visits")
def list_prompts(
    _: Reader,
    session: DbSession,
    run_id: str,
    search: Annotated[str | None, Query(max_length=200, description="Part of the identifier.")] = None,
    cursor: Annotated[str | None, Query(max_length=4_000)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> PromptPage:
    """By identifier: in which steps, from which source and with how many correct responses each was seen."""
    run = runs.get(session, run_id)
    found = repository.page(
        session,
        run_id,
        search=search,
        after=None if cursor is None else decode_texts(cursor, "prompts", 1)[0],
        limit=limit + 1,
    )
    items = [_summary(run, visits) for visits in found[:limit]]
    return PromptPage(items=items, next_cursor=encode("prompts", [items[-1].prompt_id]) if len(found) > limit else None)


@router.get("/runs/{run_id}/prompts/{prompt_id:path}", summary="One training prompt")
def get_prompt(_: Reader, session: DbSession, run_id: str, prompt_id: str) -> PromptSummary:
    """All visits of one prompt."""
    run = runs.get(session, run_id)
    visits = repository.one(session, run_id, prompt_id)
    if visits is None:
        raise not_found("prompt", prompt_id)
    return _summary(run, visits)
