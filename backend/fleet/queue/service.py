"""Describes the queue: places, reasons, expected waits, and how many runs a user may have on workers at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.fleet.queue import placements, repository
from backend.fleet.queue.expectation import Waiting, expected_seconds
from backend.fleet.queue.repository import HeldRow, WaitingRow
from backend.identity.audit.repository import add_audit
from backend.kit.bodies import rendered
from backend.kit.errors import existing
from backend.kit.principal import Principal
from backend.models import Run, User
from backend.runs.lifecycle import max_retries
from backend.runs.presentation import eta_seconds
from backend.settings.environment import Settings
from backend.workers import repository as workers
from bapo.api.queue import GpuSlot, HeldRun, LimitChange, QueueState, UserLimit, UserLimits, WaitingRun, WorkerSlots
from bapo.api.runs import RunStatus
from bapo.config.resources import Needs

MOST_WAITING = 500


def state(session: Session, settings: Settings, caller: Principal) -> QueueState:
    """Return the queue as this caller sees it: runs of other projects count, and are not shown."""
    held: dict[str | None, list[HeldRun]] = defaultdict(list)
    unseen: set[str] = set()
    for row in repository.held(session):
        held[row.attempt.worker_id].append(_held(row, caller))
        if not caller.sees(row.run.project_id):
            unseen.add(row.run.id)
    holders = {(worker_id, index): run.id for worker_id, runs in held.items() for run in runs for index in run.gpus}
    slots = [
        rendered(
            WorkerSlots,
            row.worker,
            gpus=[
                GpuSlot.model_validate({**gpu, "is_held": holder is not None, "run_id": holder})
                for gpu in row.worker.gpus
                for holder in [holders.get((row.worker.id, gpu["index"]))]
            ],
            draining=row.worker.draining_at is not None,
            hands_on=row.worker.drain_hands_on,
            online=row.is_fresh,
            runs=held[row.worker.id],
            busy=len(held[row.worker.id]),
        )
        for row in workers.workers(session, settings.fresh_seconds)
    ]
    slots.sort(key=lambda worker: (not worker.online, worker.name))
    online = [worker for worker in slots if worker.online]
    in_line, kept = placements.line(session, settings)
    rows = repository.waiting(session, [run.id for run in (*in_line, *kept)][:MOST_WAITING])
    # A held run has no expected start.
    starting = [row for row in rows if row.run.held_at is None]
    expected = expected_seconds([_in_line(row, settings) for row in starting], online)
    expected += [None] * (len(rows) - len(starting))
    return QueueState(
        waiting=[
            _waiting(row, place, seconds, caller, settings)
            for place, (row, seconds) in enumerate(zip(rows, expected, strict=True), start=1)
            if caller.sees(row.run.project_id)
        ],
        num_waiting=len(in_line) + len(kept),
        workers=[_without(worker, unseen) for worker in slots],
        slots=sum(worker.slots for worker in online),
        busy=sum(worker.busy for worker in online),
        may_administer=caller.role == "admin",
    )


def _without(worker: WorkerSlots, unseen: Collection[str]) -> WorkerSlots:
    runs = [run for run in worker.runs if run.id not in unseen]
    gpus = [gpu.model_copy(update={"run_id": None}) if gpu.run_id in unseen else gpu for gpu in worker.gpus]
    return worker.model_copy(update={"runs": runs, "gpus": gpus})


def _in_line(row: WaitingRow, settings: Settings) -> Waiting:
    run = row.run
    needs = Needs(run.num_gpus_needed, run.gpus_optional, run.memory_gib or 0.0, run.gpu_memory_gib)
    return Waiting(needs, row.promised_to is not None, None if settings.runs_dir_shared else run.host)


def _retry(run: Run, settings: Settings) -> str | None:
    if run.retry_reason is None:
        return None
    number, most = run.num_attempts_without_progress, max_retries(run, settings)
    return f"retry {number} of {most} after: {run.retry_reason}" if number else f"resumes after: {run.retry_reason}"


def _waiting(row: WaitingRow, place: int, seconds: float | None, caller: Principal, settings: Settings) -> WaitingRun:
    run = row.run
    return rendered(
        WaitingRun,
        row,
        run,
        position=None if run.held_at is not None else place,
        queued_at=run.queued_at or run.created_at,
        reason=run.status_reason,
        # A slot is free, but the run waits for something else: when that will be is unknown.
        expected_seconds=None if seconds == 0.0 and row.promised_to is None and run.status_reason else seconds,
        may_cancel=caller.may_change(run),
        gpus=run.num_gpus_needed,
        is_placed=run.queue_place is not None,
        retry=_retry(run, settings),
    )


def _held(row: HeldRow, caller: Principal) -> HeldRun:
    attempt, run = row.attempt, row.run
    return rendered(
        HeldRun,
        row,
        run,
        attempt=attempt.number,
        state=attempt.state,
        since=attempt.assigned_at,
        lease_expires_at=attempt.lease_expires_at,
        eta_seconds=eta_seconds(run),
        may_cancel=caller.may_change(run),
        gpus=attempt.gpus,
        memory_gib=attempt.memory_gib,
        stop_seconds=attempt.stop_seconds,
    )


def limits(session: Session, settings: Settings) -> UserLimits:
    """Return the limits of all users who can log in."""
    holdings = repository.holdings(session)
    counted = select(Run.owner_id, func.count()).where(Run.status == RunStatus.QUEUED).group_by(Run.owner_id)
    waiting = {row[0]: row[1] for row in session.execute(counted)}
    people = session.scalars(select(User).where(User.disabled_at.is_(None)).order_by(User.name))
    return UserLimits(
        default=settings.max_running_per_user,
        items=[
            UserLimit(
                user=person.name,
                max_running=person.max_running,
                running=holdings[person.id].num_runs if person.id in holdings else 0,
                waiting=waiting.get(person.id, 0),
            )
            for person in people
        ],
    )


def set_limit(session: Session, user: str, change: LimitChange, caller: Principal) -> None:
    """Set a user's own limit, or return to the server's default. Raises Problem 404."""
    person = existing(session.scalars(select(User).where(User.name == user)).one_or_none(), "user", user)
    before, person.max_running = person.max_running, change.max_running
    add_audit(session, None, caller.name, "limit", {"user": user, "from": before, "to": change.max_running})
