"""Submit, list, read and steer runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from sqlalchemy.orm import Session

from backend.auth.service import Principal
from backend.control import bulk, editing, steering, stopping, waiting
from backend.kit import events
from backend.kit.context import DbSession, PricesOf, SettingsOf, new_router
from backend.kit.errors import Problem
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Reader, Writer
from backend.kit.settings import Settings
from backend.models import Run
from backend.runs import access, export, filters, listing, presentation, repository
from backend.submissions import forks
from backend.submissions.submission import Submission, submit
from bapo.api.runs import (
    BulkAnswer,
    BulkRequest,
    ControlInfo,
    History,
    ParameterChange,
    PauseRequest,
    RunCreate,
    RunDetail,
    RunExport,
    RunFacets,
    RunFork,
    RunPage,
    RunQuery,
    RunUpdate,
    StopAnswer,
    StopRequest,
)

router = new_router("runs")


def _detail(session: Session, settings: Settings, run_id: str, caller: Principal) -> RunDetail:
    session.flush()
    row = repository.row(session, run_id, caller.id)
    parent = None if row.run.parent_id is None else session.get(Run, row.run.parent_id)
    around = presentation.Surroundings(
        repository.worker_name(session, row.run),
        None if parent is None else parent.name,
        stopping.stopping_when(session, row.run),
    )
    return presentation.detail(row, around, caller, settings)


@router.post("/runs", status_code=201, summary="Submit a run")
def create_run(
    caller: Writer, session: DbSession, settings: SettingsOf, body: RunCreate, idempotency_key: IdempotencyKey = None
) -> RunDetail:
    """The run is queued at once, or kept as a draft with `start: false`.

    A config that cannot run answers 422 with field, value and remedy of every problem.
    """
    return _detail(session, settings, submit(session, Submission(body, idempotency_key), caller).id, caller)


@router.get("/runs", summary="A page of runs")
def list_runs(caller: Reader, session: DbSession, prices: PricesOf, query: Annotated[RunQuery, Query()]) -> RunPage:
    """Filtered and sorted; `total` counts all that match. Archived runs are left out unless asked for."""
    page = listing.list_runs(session, query, caller.id)
    items = [presentation.summary(row, prices) for row in page.rows]
    return RunPage(items=items, total=page.total, next_cursor=page.next_cursor)


@router.get(
    "/runs.csv",
    summary="All runs that a filter matches, as CSV",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "A table with a header."}},
)
def export_runs(caller: Reader, session: DbSession, prices: PricesOf, query: Annotated[RunExport, Query()]) -> Response:
    """Not the page only. A text that a spreadsheet would run as a formula has an apostrophe before it."""
    parts = [export.header()]
    for run_ids in export.batches(listing.matching_ids(session, query, query.sort, caller.id), 500):
        rows = listing.rows_by_id(session, run_ids, caller.id)
        parts.append(export.lines([presentation.summary(row, prices) for row in rows]))
        session.expunge_all()
    headers = {"Content-Disposition": 'attachment; filename="runs.csv"'}
    return Response("".join(parts), media_type="text/csv", headers=headers)


@router.get("/runs/facets", summary="What there is to filter runs by")
def get_facets(_: Reader, session: DbSession) -> RunFacets:
    """Methods, tags, owners, groups and projects, each with the number of its runs."""
    return filters.facets(session)


@router.post("/runs/bulk", summary="Do one thing to several runs")
def change_runs(
    caller: Writer, session: DbSession, body: BulkRequest, idempotency_key: IdempotencyKey = None
) -> BulkAnswer:
    """Each run is asked for itself: those that refuse are named with the reason, and the others are done.

    With the same key again, nothing is done a second time, and the answer is the first one's.
    """
    request = f"bulk {body.model_dump_json()}"
    return once(session, caller, idempotency_key, request, BulkAnswer, lambda: bulk.perform(session, body, caller))


@router.get("/runs/{run_id}", summary="One run")
def get_run(caller: Reader, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """With its complete config and what the caller can do with it now."""
    # The identifier first: what is committed in between is then sent by the stream, not left out.
    latest_id = events.latest_id(session)
    return _detail(session, settings, run_id, caller).model_copy(update={"last_event_id": latest_id})


@router.patch("/runs/{run_id}", summary="Change name, tags or notes; archive a run")
def update_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: RunUpdate) -> RunDetail:
    """What is left out stays as it is."""
    editing.update(session, access.lock_own(session, run_id, caller), body, caller)
    return _detail(session, settings, run_id, caller)


@router.put("/runs/{run_id}/star", status_code=204, summary="Star a run")
def star_run(caller: Reader, session: DbSession, run_id: str) -> None:
    """For the caller alone; starred again, it stays so."""
    repository.get(session, run_id)
    repository.set_star(session, run_id, caller.id, is_starred=True)


@router.delete("/runs/{run_id}/star", status_code=204, summary="Take a star away")
def unstar_run(caller: Reader, session: DbSession, run_id: str) -> None:
    """For the caller alone."""
    repository.get(session, run_id)
    repository.set_star(session, run_id, caller.id, is_starred=False)


@router.delete("/runs/{run_id}", status_code=204, summary="Delete a draft or an ended run")
def delete_run(caller: Writer, session: DbSession, run_id: str) -> None:
    """Its records and downloads go at once, its folder as soon as a worker of its machine is there."""
    editing.delete(session, access.lock_own(session, run_id, caller), caller)


@router.post("/runs/{run_id}/start", summary="Queue a draft")
def start_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """From here on a worker may take it."""
    waiting.start(session, access.lock_own(session, run_id, caller), caller)
    return _detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/stop", summary="Stop a run for good")
def stop_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: StopRequest | None = None
) -> StopAnswer:
    """At the next step boundary, after a checkpoint, unless the body says otherwise; at once where nothing trains."""
    run = access.lock_own(session, run_id, caller)
    stopping.stop(session, run, caller, (body or StopRequest()).when)
    lost = stopping.steps_lost(session, run)
    return StopAnswer(**_detail(session, settings, run_id, caller).model_dump(), steps_lost=lost)


@router.post("/runs/{run_id}/pause", summary="Pause a run")
def pause_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: PauseRequest | None = None
) -> RunDetail:
    """It stops at the next step boundary or after the next regular checkpoint, and frees its machine."""
    stopping.pause(session, access.lock_own(session, run_id, caller), caller, (body or PauseRequest()).when)
    return _detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/resume", summary="Queue a paused run again")
def resume_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """A new attempt goes on from the last checkpoint."""
    waiting.resume(session, access.lock_own(session, run_id, caller), caller)
    return _detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/retry", summary="Try a failed run again")
def retry_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """A new attempt goes on from the last checkpoint. With the same key again, it is not tried a second time."""

    def retry() -> RunDetail:
        waiting.retry(session, access.lock_own(session, run_id, caller), caller)
        return _detail(session, settings, run_id, caller)

    return once(session, caller, idempotency_key, f"retry {run_id}", RunDetail, retry)


@router.post("/runs/{run_id}/hold", summary="Keep a waiting run from starting")
def hold_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Until it is released; its age keeps counting."""
    waiting.hold(session, access.lock_own(session, run_id, caller), caller)
    return _detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/release", summary="Let a held run start")
def release_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """It takes the place of its age again."""
    waiting.release(session, access.lock_own(session, run_id, caller), caller)
    return _detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/clone", status_code=201, summary="Submit a run that starts from this one's config")
def clone_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    body: RunCreate,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """As `POST /runs` with this run as `parent_id`; the parent is not touched."""
    if body.parent_id not in (None, run_id):
        raise Problem(
            422,
            "invalid_request",
            "leave parent_id out: it is the run in the address",
            field="parent_id",
            value=body.parent_id,
        )
    repository.get(session, run_id)
    clone = submit(session, Submission(body.model_copy(update={"parent_id": run_id}), idempotency_key), caller)
    return _detail(session, settings, clone.id, caller)


@router.post("/runs/{run_id}/fork", status_code=201, summary="Submit a run that goes on from a checkpoint")
def fork_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    body: RunFork,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """The new run has the parent's weights, optimizer, buffers and counters of that step, and its records up to it.

    It takes the config in force at that step with the changes; 422 names each field that the checkpoint cannot go on
    with. The parent is not touched.
    """
    parent = repository.get(session, run_id)
    fork = forks.fork(session, parent, body, idempotency_key, caller)
    return _detail(session, settings, fork.id, caller)


@router.post("/runs/{run_id}/parameters", status_code=202, summary="Change parameters of a running run")
def change_parameters(caller: Writer, session: DbSession, run_id: str, body: ParameterChange) -> ControlInfo:
    """Checked at once against the run's config; the trainer takes it at a step boundary and answers in the journal."""
    run = access.lock_own(session, run_id, caller)
    return presentation.control(steering.change_parameters(session, run, body, caller))


@router.delete("/runs/{run_id}/parameters/{control_id}", summary="Take back a change of parameters that waits")
def withdraw_parameters(caller: Writer, session: DbSession, run_id: str, control_id: str) -> ControlInfo:
    """While a worker holds the run, its trainer says whether that was in time: until then the change is pending."""
    run = access.lock_own(session, run_id, caller)
    return presentation.control(steering.withdraw(session, run, control_id, caller))


@router.get("/runs/{run_id}/history", summary="Who did what to a run")
def get_history(_: Reader, session: DbSession, run_id: str) -> History:
    """The audit trail, and each request with what became of it."""
    repository.get(session, run_id)
    return History(
        audit=[presentation.audit_entry(row) for row in repository.audit(session, run_id)],
        controls=[presentation.control(row) for row in repository.controls(session, run_id)],
    )
