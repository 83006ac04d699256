"""SQL of the queue: waiting runs and occupied slots, with their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, case, extract, func, select
from sqlalchemy.orm import Session, aliased, defer

from backend.models import Attempt, Run, User, Worker
from bapo.api.runs import RunStatus
from bapo.config.resources import Needs
from bapo.run.stop_time import StopTime


class Candidate(NamedTuple):
    """Facts that decide when and where a queued run starts."""

    id: str
    owner_id: str
    owner: str
    max_running: int | None
    """Limit of running runs of its owner; `None` for the server's default."""
    priority: int
    since: float
    place: int | None
    host: str | None
    held_by: str | None
    not_before: datetime | None
    retry_reason: str | None
    failed_on: str | None
    """Worker that failed it last, before a further step."""
    is_promised: bool
    reason: str | None
    """Why it waits, as it was last said."""
    stop_time: StopTime
    """Time that its newest attempt measured."""
    needs: Needs

    @property
    def share(self) -> int:
        """Number of GPUs that it will hold, or one slot."""
        return max(1, self.needs.gpus + self.needs.cluster_gpus)


def since() -> ColumnElement[datetime]:
    """Return when a waiting run was queued, for its place."""
    return func.coalesce(Run.queue_order, Run.queued_at, Run.created_at)


def candidates(session: Session) -> list[Candidate]:
    """Return all queued runs of all projects, in no order: runs that the caller may not see count as well."""
    promised = and_(Attempt.run_id == Run.id, Attempt.state == "assigned")
    last = aliased(Attempt)
    newest = and_(last.run_id == Run.id, last.number == Run.attempt)
    failed_on = case((Run.num_attempts_without_progress > 0, last.worker_id))
    query = (
        select(
            Run.id,
            Run.owner_id,
            User.name,
            User.max_running,
            Run.priority,
            extract("epoch", since()),
            Run.queue_place,
            Run.host,
            Run.held_by,
            Run.not_before,
            Run.retry_reason,
            failed_on,
            Attempt.run_id.is_not(None),
            Run.status_reason,
            last.start_seconds,
            last.stop_seconds,
            Run.num_gpus_needed,
            Run.gpus_optional,
            Run.memory_gib,
            Run.gpu_memory_gib,
            Run.num_cluster_gpus,
        )
        .join(User, Run.owner_id == User.id)
        .join(Attempt, promised, isouter=True)
        .join(last, newest, isouter=True)
        .where(Run.status == RunStatus.QUEUED)
        .execution_options(all_projects=True)
    )
    rows: Iterable[tuple[Any, ...]] = map(tuple, session.execute(query))
    return [
        Candidate._make((*row[:5], float(row[5]), *row[6:14], StopTime(*row[14:16]), Needs._make(row[16:])))
        for row in rows
    ]


class Holdings(NamedTuple):
    """Capacity held by the runs of one owner on all workers."""

    num_runs: int
    share: int
    """GPUs, and one for each run without."""


def holdings(session: Session) -> Mapping[str, Holdings]:
    """Return the holdings by owner, assigned runs included, in all projects."""
    query = (
        select(Run.owner_id, func.count(), func.sum(func.greatest(1, Attempt.num_gpus)))
        .join(Run, Run.id == Attempt.run_id)
        .where(Attempt.state != "ended")
        .group_by(Run.owner_id)
        .execution_options(all_projects=True)
    )
    return {owner_id: Holdings(num_runs, share) for owner_id, num_runs, share in session.execute(query)}


class WaitingRow(NamedTuple):
    """A queued run with the names that belong to it."""

    run: Run
    owner: str
    promised_to: str | None


def waiting(session: Session, run_ids: Sequence[str]) -> list[WaitingRow]:
    """Return these runs, of all projects, in the order given."""
    query = (
        select(Run, User.name, Worker.name)
        .join(User, Run.owner_id == User.id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.state == "assigned"), isouter=True)
        .join(Worker, Worker.id == Attempt.worker_id, isouter=True)
        .where(Run.id.in_(run_ids))
        .execution_options(all_projects=True)
    )
    rows = {run.id: WaitingRow(run, owner, worker) for run, owner, worker in session.execute(query)}
    return [rows[run_id] for run_id in run_ids if run_id in rows]


class HeldRow(NamedTuple):
    """An attempt that occupies a slot."""

    attempt: Attempt
    run: Run
    owner: str


def held(session: Session) -> list[HeldRow]:
    """Return all attempts that have not ended, oldest first, of all projects: each occupies a slot.

    Those assigned in one round come in the order of their submission.
    """
    query = (
        select(Attempt, Run, User.name)
        .join(Run, Run.id == Attempt.run_id)
        .join(User, Run.owner_id == User.id)
        .where(Attempt.state != "ended")
        .order_by(Attempt.assigned_at, Run.created_at, Attempt.run_id)
        .execution_options(all_projects=True)
    )
    return [HeldRow(*row) for row in session.execute(query)]


def lock_waiting(session: Session, run_ids: Sequence[str], *, waits: bool = False) -> Sequence[Run]:
    """Return the runs among these that are still queued, locked and without their configs.

    Runs locked by another transaction are skipped, or waited for in the one order in which all waiters lock runs.
    """
    unread = (Run.config, Run.explicit, Run.diff, Run.search_text)
    query = (
        select(Run)
        .where(Run.id.in_(run_ids), Run.status == RunStatus.QUEUED, Run.held_at.is_(None))
        .options(*(defer(column) for column in unread))
        .order_by(Run.id)
        .with_for_update(skip_locked=not waits, key_share=True)
    )
    return session.scalars(query, execution_options={"populate_existing": True}).all()
