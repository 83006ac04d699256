"""Drains, undrains and forgets workers."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.database import clock
from backend.kit.errors import Problem, existing, not_found
from backend.kit.principal import Principal
from backend.models import Worker
from backend.settings.environment import Settings
from backend.workers import repository
from bapo.api.workers import DrainRequest


def drain(session: Session, worker_id: str, request: DrainRequest, caller: Principal) -> Worker:
    """Give the worker no new runs and withdraw unclaimed assignments. Raises Problem 404."""
    worker = _lock(session, worker_id)
    if worker.draining_at is None:
        worker.draining_at = clock(session)
    worker.drain_hands_on = request.hand_on
    repository.withdraw(session, worker.id)
    _note(session, worker, caller, "worker_drained", {"hand_on": request.hand_on})
    return worker


def undrain(session: Session, worker_id: str, caller: Principal) -> Worker:
    """Give the worker new runs again. Raises Problem 404."""
    worker = _lock(session, worker_id)
    if worker.draining_at is not None:
        worker.draining_at, worker.drain_hands_on = None, False
        _note(session, worker, caller, "worker_undrained", {})
    return worker


def forget(session: Session, worker_id: str, caller: Principal, settings: Settings) -> None:
    """Leave a worker that is gone out of the lists. Raises Problem 404, and 409 while it is there or has runs."""
    worker = _lock(session, worker_id)
    if repository.is_fresh(session, worker, settings.fresh_seconds):
        remedy = "it is online: drain and stop it first"
        raise Problem(409, "worker_connected", remedy, field="worker_id", value=worker_id)
    repository.withdraw(session, worker.id)
    if repository.num_held(session, worker):
        remedy = (
            f"it has runs that may still be active: they are lost {settings.lease_seconds:g} s after its last heartbeat"
        )
        raise Problem(409, "worker_has_runs", remedy, field="worker_id", value=worker_id)
    worker.forgotten_at, worker.draining_at, worker.drain_hands_on = clock(session), None, False
    _note(session, worker, caller, "worker_forgotten", {})


def _lock(session: Session, worker_id: str) -> Worker:
    worker = session.get(Worker, worker_id, with_for_update=True)
    if worker is None or worker.forgotten_at is not None:
        raise not_found("worker", worker_id)
    return worker


def _note(session: Session, worker: Worker, caller: Principal, action: str, detail: dict[str, object]) -> None:
    add_audit(session, None, caller.name, action, {"worker": worker.name, **detail})


def worker_of(session: Session, worker_id: str, caller: Principal) -> Worker:
    """Return a worker of this token. Raises Problem 404."""
    return existing(repository.get(session, caller.id, worker_id), "worker", worker_id)
