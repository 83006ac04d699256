"""Routes that list, drain and forget workers."""

from __future__ import annotations

from backend.kit.bodies import rendered
from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.permissions import Administrator, Reader
from backend.models import Worker
from backend.workers import administration, repository
from backend.workers.repository import WorkerRow
from bapo.api.workers import DrainRequest, WorkerInfo, WorkerPage

router = new_router("workers")


@router.get("/workers", summary="List workers")
def list_workers(_: Reader, session: DbSession, settings: SettingsOf) -> WorkerPage:
    """List all registered workers by name, with the runs that each holds."""
    rows = repository.workers(session, settings.fresh_seconds)
    return WorkerPage(items=[_info(row) for row in rows])


def _info(row: WorkerRow) -> WorkerInfo:
    draining = row.worker.draining_at is not None
    return rendered(WorkerInfo, row, row.worker, online=row.is_fresh, draining=draining)


def _one(session: DbSession, settings: SettingsOf, worker: Worker) -> WorkerInfo:
    session.flush()
    rows = repository.workers(session, settings.fresh_seconds)
    return next(_info(row) for row in rows if row.worker.id == worker.id)


@router.post("/workers/{worker_id}/drain", summary="Drain a worker")
def drain_worker(
    caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str, body: DrainRequest
) -> WorkerInfo:
    """Give a worker no new runs; with `hand_on`, also give its runs to other workers. Requires an administrator."""
    return _one(session, settings, administration.drain(session, worker_id, body, caller))


@router.post("/workers/{worker_id}/undrain", summary="Undrain a worker")
def undrain_worker(caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str) -> WorkerInfo:
    """Give a drained worker new runs again. Requires an administrator."""
    return _one(session, settings, administration.undrain(session, worker_id, caller))


@router.delete("/workers/{worker_id}", status_code=204, summary="Forget a worker")
def forget_worker(caller: Administrator, session: DbSession, settings: SettingsOf, worker_id: str) -> None:
    """Remove a worker that is gone from the lists; its name is free again. 409 while it is online or has runs.

    Requires an administrator.
    """
    administration.forget(session, worker_id, caller, settings)
