"""The workers' own routes, and the list of workers for people."""

from __future__ import annotations

from backend.dispatch import attempts
from backend.kit.context import ContextOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader, WorkerCaller
from backend.models import Worker
from backend.runs import presentation
from backend.runs import repository as runs
from backend.workers import administration, repository
from backend.workers.freshness import fresh_seconds
from backend.workers.repository import WorkerRow
from bapo.api.runs import RunSummary
from bapo.api.workers import (
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    DrainRequest,
    GpuInfo,
    HeartbeatAnswer,
    RecordBatch,
    WorkerHeartbeat,
    WorkerInfo,
    WorkerPage,
    WorkerRegistration,
    WorkerWelcome,
)

router = new_router("workers")


@router.get("/workers", summary="The workers")
def list_workers(_: Reader, session: DbSession, settings: SettingsOf) -> WorkerPage:
    """All that have ever registered, by name, with the runs that each holds."""
    rows = repository.workers(session, fresh_seconds(settings))
    return WorkerPage(items=[_info(row) for row in rows])


def _info(row: WorkerRow) -> WorkerInfo:
    return WorkerInfo(
        id=row.worker.id,
        name=row.worker.name,
        host=row.worker.host,
        slots=row.worker.slots,
        busy=row.busy,
        gpus=[GpuInfo.model_validate(gpu) for gpu in row.worker.gpus],
        version=row.worker.version,
        online=row.is_fresh,
        draining=row.worker.draining_at is not None,
        last_seen_at=row.worker.last_seen_at,
        run_ids=row.run_ids,
        system=row.worker.system,
    )


def _one(session: DbSession, settings: SettingsOf, worker: Worker) -> WorkerInfo:
    session.flush()
    rows = repository.workers(session, fresh_seconds(settings))
    return next(_info(row) for row in rows if row.worker.id == worker.id)


@router.post("/workers/{worker_id}/drain", summary="Give a worker no new runs")
def drain_worker(
    caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str, body: DrainRequest
) -> WorkerInfo:
    """For administrators. What it runs goes on, unless it is to hand that on too."""
    return _one(session, settings, administration.drain(session, worker_id, body, caller))


@router.post("/workers/{worker_id}/undrain", summary="Give a drained worker runs again")
def undrain_worker(caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str) -> WorkerInfo:
    """For administrators."""
    return _one(session, settings, administration.undrain(session, worker_id, caller))


@router.delete("/workers/{worker_id}", status_code=204, summary="Forget a worker that is gone")
def forget_worker(caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str) -> None:
    """For administrators; its name is free again. 409 while it is connected or has runs."""
    administration.forget(session, worker_id, caller, settings)


@router.post("/workers/register", summary="A worker has started")
def register_worker(
    caller: WorkerCaller, session: DbSession, context: ContextOf, body: WorkerRegistration
) -> WorkerWelcome:
    """Known by its name over restarts. Answers where its queue is and how often to send heartbeats."""
    worker = attempts.register(session, body, caller)
    context.dispatcher.wake()
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
