"""Lists workers; drains and forgets them."""

from __future__ import annotations

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader
from backend.models import Worker
from backend.workers import administration, repository
from backend.workers.freshness import fresh_seconds
from backend.workers.repository import WorkerRow
from bapo.api.workers import (
    DrainRequest,
    GpuInfo,
    WorkerInfo,
    WorkerPage,
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
