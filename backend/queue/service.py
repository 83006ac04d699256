"""Puts the queue together: places, reasons, and when a slot is expected to be free."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from backend.auth.service import Principal
from backend.queue import repository
from backend.queue.repository import HeldRow, WaitingRow
from backend.runs.presentation import eta_seconds
from backend.settings import Settings
from backend.workers import repository as workers
from backend.workers.dispatcher import fresh_seconds
from bapo.api import HeldRun, QueueState, WaitingRun, WorkerSlots

MOST_WAITING = 500


def state(session: Session, settings: Settings, caller: Principal) -> QueueState:
    """The queue as this caller sees it: runs of other projects count, and are not shown."""
    held: dict[str | None, list[HeldRun]] = defaultdict(list)
    unseen: set[str] = set()
    for row in repository.held(session):
        held[row.attempt.worker_id].append(_held(row, caller))
        if not caller.sees(row.run.project_id):
            unseen.add(row.run.id)
    slots = [
        WorkerSlots(
            id=row.worker.id,
            name=row.worker.name,
            host=row.worker.host,
            version=row.worker.version,
            slots=row.worker.slots,
            gpus=row.worker.gpus,
            online=row.is_fresh,
            last_seen_at=row.worker.last_seen_at,
            registered_at=row.worker.registered_at,
            system=row.worker.system,
            runs=held[row.worker.id],
            busy=len(held[row.worker.id]),
        )
        for row in workers.workers(session, fresh_seconds(settings))
    ]
    slots.sort(key=lambda worker: (not worker.online, worker.name))
    online = [worker for worker in slots if worker.online]
    rows = repository.waiting(session, MOST_WAITING)
    expected = expected_seconds([row.promised_to is not None for row in rows], online)
    return QueueState(
        waiting=[
            _waiting(row, place, seconds, caller)
            for place, (row, seconds) in enumerate(zip(rows, expected, strict=True), start=1)
            if caller.sees(row.run.project_id)
        ],
        num_waiting=len(rows) if len(rows) < MOST_WAITING else repository.num_waiting(session),
        workers=[_without(worker, unseen) for worker in slots],
        slots=sum(worker.slots for worker in online),
        busy=sum(worker.busy for worker in online),
    )


def _without(worker: WorkerSlots, unseen: Collection[str]) -> WorkerSlots:
    return worker.model_copy(update={"runs": [run for run in worker.runs if run.id not in unseen]})


def expected_seconds(promised: Sequence[bool], online: Sequence[WorkerSlots]) -> list[float | None]:
    """When each waiting run, in order, is expected to get a slot: the k-th takes the k-th slot that becomes free.

    Only slots whose run's remaining time is known count, each once: how long a waiting run itself will take is not
    guessed. A run that was promised to a worker has its slot already.
    """
    free: list[float] = []
    for worker in online:
        free += [0.0] * (worker.slots - len(worker.runs))
        free += [run.eta_seconds for run in worker.runs if run.eta_seconds is not None]
    heapq.heapify(free)
    return [0.0 if has_slot else (heapq.heappop(free) if free else None) for has_slot in promised]


def _waiting(row: WaitingRow, place: int, seconds: float | None, caller: Principal) -> WaitingRun:
    run = row.run
    return WaitingRun(
        id=run.id,
        name=run.name,
        owner=row.owner,
        method=run.method,
        attempt=run.attempt,
        step=run.step,
        num_steps=run.num_steps,
        position=place,
        priority=run.priority,
        queued_at=run.queued_at or run.created_at,
        reason=run.status_reason,
        promised_to=row.promised_to,
        expected_seconds=seconds,
        may_cancel=caller.may_change(run),
    )


def _held(row: HeldRow, caller: Principal) -> HeldRun:
    attempt, run = row.attempt, row.run
    return HeldRun.model_validate(
        {
            "id": run.id,
            "name": run.name,
            "owner": row.owner,
            "method": run.method,
            "status": run.status,
            "attempt": attempt.number,
            "state": attempt.state,
            "since": attempt.assigned_at,
            "lease_expires_at": attempt.lease_expires_at,
            "step": run.step,
            "num_steps": run.num_steps,
            "eta_seconds": eta_seconds(run),
            "may_cancel": caller.may_change(run),
        }
    )
