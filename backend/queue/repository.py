"""SQL of the queue: waiting runs and occupied slots, with the names that people know them by."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.models import Attempt, Run, User, Worker
from bapo.api import RunStatus


class WaitingRow(NamedTuple):
    """A queued run, in the order in which the dispatcher takes them."""

    run: Run
    owner: str
    promised_to: str | None


def waiting(session: Session, limit: int) -> list[WaitingRow]:
    """The first queued runs of all projects: each place in the queue counts, whoever may see the run."""
    query = (
        select(Run, User.name, Worker.name)
        .join(User, Run.owner_id == User.id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.state == "assigned"), isouter=True)
        .join(Worker, Worker.id == Attempt.worker_id, isouter=True)
        .where(Run.status == RunStatus.QUEUED)
        .order_by(Run.priority.desc(), Run.queued_at, Run.id)
        .limit(limit)
        .execution_options(all_projects=True)
    )
    return [WaitingRow(*row) for row in session.execute(query)]


def num_waiting(session: Session) -> int:
    """All queued runs of all projects."""
    query = select(func.count()).select_from(Run).where(Run.status == RunStatus.QUEUED)
    return session.scalars(query.execution_options(all_projects=True)).one()


class HeldRow(NamedTuple):
    """An attempt that occupies a slot."""

    attempt: Attempt
    run: Run
    owner: str


def held(session: Session) -> list[HeldRow]:
    """All attempts that have not ended, oldest first, of all projects: each occupies a slot."""
    query = (
        select(Attempt, Run, User.name)
        .join(Run, Run.id == Attempt.run_id)
        .join(User, Run.owner_id == User.id)
        .where(Attempt.state != "ended")
        .order_by(Attempt.assigned_at, Attempt.run_id)
        .execution_options(all_projects=True)
    )
    return [HeldRow(*row) for row in session.execute(query)]
