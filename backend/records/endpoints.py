"""Routes for records and the log of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import Query, Response

from backend.kit.context import DbSession, new_router
from backend.kit.cursors import decode_numbers, encode
from backend.kit.errors import Problem
from backend.kit.permissions import Reader
from backend.records import repository
from backend.records.parameters import MAX_STEP, Cursor, FromStep, Limit, ToStep
from backend.records.repository import Place, StepRange
from backend.runs import repository as runs
from bapo.api.records import LogChunk, RecordPage

router = new_router("records")

LOG_PIECES = 200

LogOffset = Annotated[int | None, Query(ge=0, le=2**62)]


@router.get("/runs/{run_id}/records", summary="Get records", response_model=RecordPage)
def get_records(
    _: Reader,
    session: DbSession,
    run_id: str,
    type: Annotated[
        Literal["step", "evaluation", "tracking", "event"] | None, Query(description="Defaults to all.")
    ] = None,
    from_step: FromStep = 0,
    to_step: ToStep = MAX_STEP,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Return the journal's records as the trainer wrote them, by step; for repeated steps, the latest attempt's."""
    runs.get(session, run_id)
    after = None if cursor is None else Place(*decode_numbers(cursor, "records"))
    steps = StepRange(from_step, to_step)
    found: list[repository.PlacedRecord] = []
    if type in (None, "step"):
        found += repository.step_records(session, run_id, steps, after, limit + 1)
    if type != "step":
        found += repository.sparse_records(session, run_id, type, steps, after, limit + 1)
    found.sort(key=lambda each: each.place)
    items = found[:limit]
    next_cursor = encode("records", items[-1].place) if len(found) > limit else None
    content = orjson.dumps({"items": [each.record for each in items], "next_cursor": next_cursor})
    return Response(content, media_type="application/json")


@router.get("/runs/{run_id}/log", summary="Get the trainer's log")
def get_log(
    _: Reader,
    session: DbSession,
    run_id: str,
    offset: Annotated[LogOffset, Query(description="`next_offset` of the previous part.")] = None,
    before: Annotated[LogOffset, Query(description="`first_offset` of the next part.")] = None,
    attempt: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only this attempt; defaults to all.")] = None,
) -> LogChunk:
    """Return the output after `offset`, or before `before`; its end without either. Offset 0 is the beginning."""
    run = runs.get(session, run_id)
    if attempt is not None and attempt > run.attempt:
        remedy = f"the run has had {run.attempt} attempts: name one of them, or leave it out"
        raise Problem(422, "invalid_request", remedy, field="attempt", value=attempt)
    log = repository.Log(run_id, attempt)
    pieces = log.after(session, offset, LOG_PIECES) if offset is not None else log.before(session, before, LOG_PIECES)
    first = pieces[0][0] if pieces else 0
    return LogChunk(
        text="".join(text for _, text in pieces),
        next_offset=pieces[-1][0] if pieces else offset or 0,
        first_offset=first if first and log.before(session, first, 1) else 0,
    )
