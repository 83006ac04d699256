"""Route for the responses of a run."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import Query, Response

from backend.kit.context import DbSession, new_router
from backend.kit.cursors import decode_numbers, encode
from backend.kit.permissions import Reader
from backend.readings.samples import repository, service
from backend.runs import repository as runs
from bapo.api.readings import SampleFilter, SamplePage

router = new_router("samples")


class SampleQuery(SampleFilter):
    """A filter and a page."""

    cursor: Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the previous page.")] = None
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50


@router.get("/runs/{run_id}/samples", summary="List sampled responses", response_model=SamplePage)
def get_samples(_: Reader, session: DbSession, run_id: str, query: Annotated[SampleQuery, Query()]) -> Response:
    """List groups of responses that were kept as text, newest step first.

    `search` looks through at most 2,000 groups per page: fewer than `limit` may be returned although `next_cursor`
    says that there are more.
    """
    runs.get(session, run_id)
    wanted = repository.Wanted(
        run_id,
        query.prompt_id,
        query.source,
        query.min_correct,
        query.max_correct,
        query.from_step if query.step is None else query.step,
        query.to_step if query.step is None else query.step,
    )
    after = None if query.cursor is None else repository.Place(*decode_numbers(query.cursor, "samples"))
    found = service.find(session, wanted, query.search, after, query.limit)
    steps = repository.steps_around(session, wanted, query.step)
    content = orjson.dumps(
        {
            "items": found.records,
            "next_cursor": None if found.after is None else encode("samples", found.after),
            "total": found.total,
            "num_searched": found.num_searched,
            "first_step": steps.first,
            "newest_step": steps.newest,
            "previous_step": steps.previous,
            "next_step": steps.next,
        }
    )
    return Response(content, media_type="application/json")
