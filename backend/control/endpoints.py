"""Change runs that exist."""

from __future__ import annotations

from backend.control import bulk, editing, steering, stopping, waiting
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Writer
from backend.runs import access, presentation
from bapo.api.runs import (
    BulkAnswer,
    BulkRequest,
    ControlInfo,
    ParameterChange,
    PauseRequest,
    RunDetail,
    RunUpdate,
    StopAnswer,
    StopRequest,
)

router = new_router("runs")


@router.post("/runs/bulk", summary="Do one thing to several runs")
def change_runs(
    caller: Writer, session: DbSession, body: BulkRequest, idempotency_key: IdempotencyKey = None
) -> BulkAnswer:
    """Each run is asked for itself: those that refuse are named with the reason, and the others are done.

    With the same key again, nothing is done a second time, and the answer is the first one's.
    """
    request = f"bulk {body.model_dump_json()}"
    return once(session, caller, idempotency_key, request, BulkAnswer, lambda: bulk.perform(session, body, caller))


@router.patch("/runs/{run_id}", summary="Change name, tags or notes; archive a run")
def update_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: RunUpdate) -> RunDetail:
    """What is left out stays as it is."""
    editing.update(session, access.lock_own(session, run_id, caller), body, caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.delete("/runs/{run_id}", status_code=204, summary="Delete a draft or an ended run")
def delete_run(caller: Writer, session: DbSession, run_id: str) -> None:
    """Its records and downloads go at once, its folder as soon as a worker of its machine is there."""
    editing.delete(session, access.lock_own(session, run_id, caller), caller)


@router.post("/runs/{run_id}/start", summary="Queue a draft")
def start_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """From here on a worker may take it."""
    waiting.start(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/stop", summary="Stop a run for good")
def stop_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: StopRequest | None = None
) -> StopAnswer:
    """At the next step boundary, after a checkpoint, unless the body says otherwise; at once where nothing trains."""
    run = access.lock_own(session, run_id, caller)
    stopping.stop(session, run, caller, (body or StopRequest()).when)
    lost = stopping.steps_lost(session, run)
    return StopAnswer(**presentation.run_detail(session, settings, run_id, caller).model_dump(), steps_lost=lost)


@router.post("/runs/{run_id}/pause", summary="Pause a run")
def pause_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: PauseRequest | None = None
) -> RunDetail:
    """It stops at the next step boundary or after the next regular checkpoint, and frees its machine."""
    stopping.pause(session, access.lock_own(session, run_id, caller), caller, (body or PauseRequest()).when)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/resume", summary="Queue a paused run again")
def resume_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """A new attempt goes on from the last checkpoint."""
    waiting.resume(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


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
        return presentation.run_detail(session, settings, run_id, caller)

    return once(session, caller, idempotency_key, f"retry {run_id}", RunDetail, retry)


@router.post("/runs/{run_id}/hold", summary="Keep a waiting run from starting")
def hold_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Until it is released; its age keeps counting."""
    waiting.hold(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/release", summary="Let a held run start")
def release_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """It takes the place of its age again."""
    waiting.release(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


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
