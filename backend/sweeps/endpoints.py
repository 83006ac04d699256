"""Plan, make, read and steer sweeps."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from backend.kit import cursors
from backend.kit.context import DbSession, PricesOf, new_router
from backend.kit.idempotency import IdempotencyKey
from backend.kit.permissions import Reader, Writer
from backend.sweeps import planning, repository, service
from bapo.api.sweeps import (
    SweepActionAnswer,
    SweepActionRequest,
    SweepCreate,
    SweepDetail,
    SweepPage,
    SweepPlan,
    SweepPreview,
)

router = new_router("sweeps")


@router.post("/sweeps/preview", summary="The runs that a plan would make")
def preview_sweep(_: Reader, session: DbSession, prices: PricesOf, body: SweepPlan) -> SweepPreview:
    """Makes nothing. Each combination that cannot run is named with every reason."""
    return planning.preview(session, body, prices)


@router.post("/sweeps", status_code=201, summary="Make the runs of a plan")
def create_sweep(
    caller: Writer, session: DbSession, body: SweepCreate, idempotency_key: IdempotencyKey = None
) -> SweepDetail:
    """All of them or none: 422 names each combination that cannot run."""
    return service.detail(session, service.create(session, body, idempotency_key, caller))


@router.get("/sweeps", summary="The sweeps")
def list_sweeps(
    _: Reader,
    session: DbSession,
    cursor: Annotated[str | None, Query(max_length=2_000)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SweepPage:
    """Newest first, with how far each is."""
    after = None if cursor is None else tuple(cursors.decode_texts(cursor, "sweeps", 2))
    rows = repository.page(session, limit + 1, after)  # type: ignore[arg-type]
    shown = rows[:limit]
    progress = repository.progress(session, [row.sweep.id for row in shown])
    next_cursor = None
    if len(rows) > limit:
        last = shown[-1].sweep
        next_cursor = cursors.encode("sweeps", [last.created_at.strftime("%Y-%m-%d %H:%M:%S.%f"), last.id])
    items = [service.summary(row, progress.get(row.sweep.id, [])) for row in shown]
    return SweepPage(items=items, next_cursor=next_cursor)


@router.get("/sweeps/{sweep_id}", summary="One sweep")
def get_sweep(_: Reader, session: DbSession, sweep_id: str) -> SweepDetail:
    """Its runs, and their results by setting, with intervals over seeds."""
    return service.detail(session, sweep_id)


@router.post("/sweeps/{sweep_id}/actions", summary="Do one thing to all runs of a sweep")
def change_sweep(caller: Writer, session: DbSession, sweep_id: str, body: SweepActionRequest) -> SweepActionAnswer:
    """To those whose state allows it; the others are counted."""
    return service.perform(session, sweep_id, body, caller)
