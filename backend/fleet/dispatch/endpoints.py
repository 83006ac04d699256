"""Routes that workers call: register, heartbeat, claim, upload, report."""

from __future__ import annotations

from fastapi import Request

from backend.fleet.dispatch import attempts, broker
from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import WorkerCaller
from backend.prices.service import prices_in_force
from backend.runs import presentation
from backend.runs import repository as runs
from bapo.api.runs import RunSummary
from bapo.api.workers import (
    AssignedRuns,
    AssignedRunsRequest,
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    HeartbeatAnswer,
    RecordBatch,
    WorkerHeartbeat,
    WorkerRegistration,
    WorkerWelcome,
)

router = new_router("workers")


@router.post("/workers/register", summary="Register a worker")
def register_worker(
    caller: WorkerCaller, session: DbSession, context: ContextOf, body: WorkerRegistration
) -> WorkerWelcome:
    """Register a worker that starts. Its name identifies it across starts. Returns its queue and heartbeat interval."""
    worker = attempts.register(session, body, caller)
    context.part(Dispatcher).wake()
    return WorkerWelcome(
        worker_id=worker.id,
        queue=worker.queue,
        broker_url=context.settings.broker_url if body.delivery == "broker" else "",
        runs_dir=str(context.settings.runs_dir),
        runs_dir_shared=context.settings.runs_dir_shared,
        heartbeat_seconds=context.settings.heartbeat_seconds,
    )


@router.post("/workers/heartbeat", summary="Send a heartbeat")
def heartbeat(caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: WorkerHeartbeat) -> HeartbeatAnswer:
    """Extend the leases of the attempts named. Returns pending requests, and the attempts that the worker has lost."""
    return attempts.heartbeat(session, body, caller, settings)


@router.post("/workers/deliveries", summary="Wait for runs")
async def wait_for_runs(
    caller: WorkerCaller, context: ContextOf, request: Request, body: AssignedRunsRequest
) -> AssignedRuns:
    """Return the runs to claim as soon as some are assigned to the worker; none after `wait_seconds`: ask again.

    For workers that listen to no broker. An answer may come twice; the claim decides.
    """
    return AssignedRuns(run_ids=await broker.wait_for_runs(context, request, body, caller))


@router.post("/workers/runs/{run_id}/claim", summary="Claim a run")
def claim_run(caller: WorkerCaller, session: DbSession, settings: SettingsOf, run_id: str, body: ClaimRequest) -> Claim:
    """Claim a run that was assigned to this worker. 409 if it is claimed already or was assigned to another worker."""
    return attempts.claim(session, run_id, body.worker_id, caller, settings)


@router.post("/workers/runs/{run_id}/records", summary="Upload records")
def post_records(caller: WorkerCaller, session: DbSession, run_id: str, body: RecordBatch) -> BatchAccepted:
    """Upload lines of an attempt's file by byte offset. Lines already stored are skipped, a gap stores nothing.

    Returns the offset to send next.
    """
    return attempts.store_records(session, run_id, body, caller)


@router.post("/workers/runs/{run_id}/outcome", summary="Report an outcome")
def post_outcome(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, run_id: str, body: AttemptOutcome
) -> RunSummary:
    """Report that a trainer is running or has ended. A repeated report changes nothing."""
    attempts.note_outcome(session, run_id, body, caller, settings)
    session.flush()
    return presentation.summary(runs.row(session, run_id, caller.id), prices_in_force(session, settings))
