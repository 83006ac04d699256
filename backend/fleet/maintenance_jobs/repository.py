"""SQL of maintenance jobs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, func, or_, select, update
from sqlalchemy.orm import Session

from backend.files.artifacts.repository import open_for
from backend.files.storage.repository import waiting_forks
from backend.kit.database import seconds_from_now
from backend.models import FolderDeletion, Run, RunStorage, Worker
from backend.readings.chats import repository as chats

RETRY_SECONDS = 30.0
"""Between two tries at a deletion."""


def deletions(session: Session, worker: Worker, *, is_shared: bool, limit: int) -> Sequence[FolderDeletion]:
    """Return the deletions for this worker, oldest first."""
    return session.scalars(_deletions(worker, is_shared).order_by(FolderDeletion.id).limit(limit)).all()


def _deletions(worker: Worker, is_shared: bool) -> Select[FolderDeletion]:
    is_due = or_(FolderDeletion.tried_at.is_(None), FolderDeletion.tried_at < seconds_from_now(-RETRY_SECONDS))
    # The worker copies a fork's first checkpoint out of this folder when it starts the fork.
    needed = waiting_forks(FolderDeletion.run_id.expression).exists()
    query = select(FolderDeletion).where(is_due, ~(FolderDeletion.part.in_(("folder", "checkpoints")) & needed))
    return query if is_shared else query.where(FolderDeletion.host == worker.host)


def deletion(session: Session, deletion_id: int, worker: Worker, *, is_shared: bool) -> FolderDeletion | None:
    """Return a deletion that this worker may carry out, locked; None where it is done or for another machine."""
    query = select(FolderDeletion).where(FolderDeletion.id == deletion_id)
    if not is_shared:
        query = query.where(FolderDeletion.host == worker.host)
    return session.scalars(query.with_for_update()).one_or_none()


def to_measure(session: Session, worker: Worker, *, is_shared: bool, limit: int) -> Sequence[Run]:
    """Return the runs whose folders this worker should measure; forks that wait for their first attempt come first."""
    return session.scalars(_to_measure(worker, is_shared).order_by(~is_new_fork()).limit(limit)).all()


def is_new_fork() -> ColumnElement[bool]:
    """Return whether the run is a fork that no worker has started."""
    return Run.forked_from.is_not(None) & (Run.attempt == 0)


def _to_measure(worker: Worker, is_shared: bool) -> Select[Run]:
    query = select(Run).join(RunStorage, Run.id == RunStorage.run_id).where(RunStorage.is_folder_due)
    return query if is_shared else query.where(Run.host == worker.host)


def any_for(session: Session, worker: Worker, *, is_shared: bool, fresh_seconds: float) -> bool:
    """Return whether there is anything for this worker to do."""
    packing = open_for(worker, is_shared=is_shared, fresh_seconds=fresh_seconds).exists()
    deleting = _deletions(worker, is_shared).exists()
    measuring = _to_measure(worker, is_shared).exists()
    chatting = chats.open_for(worker, is_shared=is_shared, fresh_seconds=fresh_seconds).exists()
    return bool(session.scalars(select(or_(packing, deleting, measuring, chatting))).one())


def note_size(
    session: Session, worker: Worker, run_id: str, num_bytes: int, checkpoints: list[dict[str, int]], *, is_shared: bool
) -> None:
    """Keep what a worker measured of a folder on its machine."""
    query = update(RunStorage).where(RunStorage.run_id == run_id)
    if not is_shared:
        query = query.where(RunStorage.run_id.in_(select(Run.id).where(Run.id == run_id, Run.host == worker.host)))
    query = query.values(
        folder_bytes=num_bytes, checkpoints=checkpoints, folder_measured_at=func.now(), is_folder_due=False
    )
    session.execute(query.execution_options(synchronize_session=False))
