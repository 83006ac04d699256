"""The routes that workers call: register, heartbeat, claim, upload, report."""

from __future__ import annotations

from backend.dispatch import attempts
from backend.dispatch.dispatcher import Dispatcher
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import WorkerCaller
from backend.runs import presentation
from backend.runs import repository as runs
from bapo.api.runs import RunSummary
from bapo.api.workers import (
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


@router.post("/workers/register", summary="A worker has started")
def register_worker(
    caller: WorkerCaller, session: DbSession, context: ContextOf, body: WorkerRegistration
) -> WorkerWelcome:
    """Known by its name over restarts. Answers where its queue is and how often to send heartbeats."""
    worker = attempts.register(session, body, caller)
    context.part(Dispatcher).wake()
    return WorkerWelcome(
        worker_id=worker.id,
        queue=worker.queue,
        broker_url=context.settings.worker_broker_url or context.settings.broker_url,
        runs_dir=str(context.settings.runs_dir),
        heartbeat_seconds=context.settings.heartbeat_seconds,
    )


@router.post("/workers/heartbeat", summary="A worker says what it is running")
def heartbeat(caller: WorkerCaller, session: DbSession, settings: SettingsOf, body: WorkerHeartbeat) -> HeartbeatAnswer:
    """Extends the leases of the attempts named; answers requests to them, and which are no longer the worker's."""
    return attempts.heartbeat(session, body, caller, settings)


@router.post("/workers/runs/{run_id}/claim", summary="Take an assigned run")
def claim_run(caller: WorkerCaller, session: DbSession, settings: SettingsOf, run_id: str, body: ClaimRequest) -> Claim:
    """Works once; 409 where the run is claimed already or not for this worker."""
    return attempts.claim(session, run_id, body.worker_id, caller, settings)


@router.post("/workers/runs/{run_id}/records", summary="Upload lines of an attempt's file")
def post_records(caller: WorkerCaller, session: DbSession, run_id: str, body: RecordBatch) -> BatchAccepted:
    """By byte offset: lines that are stored are skipped, a gap stores nothing; the answer says what is wanted next."""
    return attempts.store_records(session, run_id, body, caller)


@router.post("/workers/runs/{run_id}/outcome", summary="A trainer is up, or has ended")
def post_outcome(
    caller: WorkerCaller, session: DbSession, settings: SettingsOf, run_id: str, body: AttemptOutcome
) -> RunSummary:
    """Told again, nothing more happens."""
    attempts.note_outcome(session, run_id, body, caller, settings)
    session.flush()
    return presentation.summary(runs.row(session, run_id, caller.id), settings.prices)
