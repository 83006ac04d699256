"""Routes that change existing runs."""

from __future__ import annotations

from backend.fleet.control import bulk, edits, steering, transitions
from backend.kit import project_scope
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
    RestoreAnswer,
    RunDetail,
    RunUpdate,
    StopAnswer,
    StopRequest,
)

router = new_router("runs")


@router.post("/runs/bulk", summary="Change several runs")
def change_runs(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    body: BulkRequest,
    idempotency_key: IdempotencyKey = None,
) -> BulkAnswer:
    """Apply one action to several runs. Runs that refuse are returned with the reason; the others are changed.

    A repeated request with the same idempotency key changes nothing and gets the first response.
    """
    request = f"bulk {body.model_dump_json()}"

    def perform() -> BulkAnswer:
        return bulk.perform(session, body, caller, settings)

    return once(session, caller, idempotency_key, request, BulkAnswer, perform)


@router.patch("/runs/{run_id}", summary="Update a run")
def update_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: RunUpdate) -> RunDetail:
    """Change the name, tags, notes or priority of a run, or archive it. Omitted fields stay as they are."""
    edits.update(session, access.lock_own(session, run_id, caller), body, caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.delete("/runs/{run_id}", status_code=204, summary="Delete a run")
def delete_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, permanently: bool = False
) -> None:
    """Move a draft or a finished run to the trash. It can be restored for as many days as the deployment sets, and is
    then deleted.

    `permanently` deletes it now, in the trash or not: records and downloads at once, its folder once a worker on its
    machine is online.
    """
    if permanently:
        project_scope.show_trash(session)
        edits.purge(session, access.lock_own(session, run_id, caller), caller)
    else:
        edits.trash(session, access.lock_own(session, run_id, caller), caller, settings)


@router.post("/runs/{run_id}/restore", summary="Restore a run from the trash")
def restore_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RestoreAnswer:
    """Take a run out of the trash, with everything that it recorded."""
    project_scope.show_trash(session)
    notice = edits.restore(session, access.lock_own(session, run_id, caller), caller)
    return RestoreAnswer(**presentation.run_detail(session, settings, run_id, caller).model_dump(), notice=notice)


@router.post("/runs/{run_id}/start", summary="Start a draft")
def start_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Queue a draft."""
    transitions.start(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/stop", summary="Stop a run")
def stop_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: StopRequest | None = None
) -> StopAnswer:
    """Stop a run at the next step, after a checkpoint, unless the body says otherwise; at once if nothing trains."""
    run = access.lock_own(session, run_id, caller)
    transitions.stop(session, run, caller, (body or StopRequest()).when)
    lost = transitions.steps_lost(session, run)
    return StopAnswer(**presentation.run_detail(session, settings, run_id, caller).model_dump(), steps_lost=lost)


@router.post("/runs/{run_id}/pause", summary="Pause a run")
def pause_run(
    caller: Writer, session: DbSession, settings: SettingsOf, run_id: str, body: PauseRequest | None = None
) -> RunDetail:
    """Pause a run at the next step or the next regular checkpoint and free the machine. The run can be resumed."""
    transitions.pause(session, access.lock_own(session, run_id, caller), caller, (body or PauseRequest()).when)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/resume", summary="Resume a run")
def resume_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Queue a paused run. A new attempt resumes from the last checkpoint."""
    transitions.resume(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/retry", summary="Retry a run")
def retry_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """Queue a failed run. A new attempt resumes from the last checkpoint.

    A repeated request with the same idempotency key does not retry again.
    """

    def retry() -> RunDetail:
        transitions.retry(session, access.lock_own(session, run_id, caller), caller)
        return presentation.run_detail(session, settings, run_id, caller)

    return once(session, caller, idempotency_key, f"retry {run_id}", RunDetail, retry)


@router.post("/runs/{run_id}/hold", summary="Hold a run")
def hold_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Keep a queued run from starting until it is released. It keeps its place by age."""
    transitions.hold(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/release", summary="Release a run")
def release_run(caller: Writer, session: DbSession, settings: SettingsOf, run_id: str) -> RunDetail:
    """Let a held run start. It returns to its place by age."""
    transitions.release(session, access.lock_own(session, run_id, caller), caller)
    return presentation.run_detail(session, settings, run_id, caller)


@router.post("/runs/{run_id}/parameters", status_code=202, summary="Change parameters of a run")
def change_parameters(caller: Writer, session: DbSession, run_id: str, body: ParameterChange) -> ControlInfo:
    """Check the change against the run's config now. The trainer applies and journals it at a step boundary."""
    run = access.lock_own(session, run_id, caller)
    return presentation.control(steering.change_parameters(session, run, body, caller))


@router.delete("/runs/{run_id}/parameters/{control_id}", summary="Withdraw a parameter change")
def withdraw_parameters(caller: Writer, session: DbSession, run_id: str, control_id: str) -> ControlInfo:
    """Withdraw a change. While a worker holds the run, it stays pending until the trainer confirms the withdrawal."""
    run = access.lock_own(session, run_id, caller)
    return presentation.control(steering.withdraw(session, run, control_id, caller))
