"""SQL of artifacts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.kit.errors import existing
from backend.models import Artifact, Run, Worker

OPEN_STATES = ("requested", "preparing")


def of_run(session: Session, run_id: str) -> Sequence[Artifact]:
    """Return all of a run, newest first."""
    query = select(Artifact).join(Run).where(Artifact.run_id == run_id)
    return session.scalars(query.order_by(Artifact.requested_at.desc(), Artifact.id)).all()


def get(session: Session, run_id: str, artifact_id: str) -> Artifact:
    """Return one artifact of a run. Raises Problem 404."""
    query = select(Artifact).join(Run).where(Artifact.id == artifact_id, Artifact.run_id == run_id)
    return existing(session.scalars(query).one_or_none(), "artifact", artifact_id)


def lock(session: Session, artifact_id: str) -> Artifact | None:
    """Return one artifact, locked until the transaction ends."""
    query = select(Artifact).where(Artifact.id == artifact_id).with_for_update()
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def used_bytes(session: Session, but: str) -> int:
    """Return the bytes that all downloads except one use or will use."""
    size = func.coalesce(Artifact.num_bytes, Artifact.received_bytes)
    query = select(func.coalesce(func.sum(size), 0))
    return int(session.scalars(query.where(Artifact.state.in_(("preparing", "ready")), Artifact.id != but)).one())


def to_pack(session: Session, worker: Worker, *, is_shared: bool, fresh_seconds: float, limit: int) -> list[Artifact]:
    """Return downloads for this worker to pack: its own, unassigned ones, and those of silent workers; locked."""
    query = open_for(worker, is_shared=is_shared, fresh_seconds=fresh_seconds).order_by(
        Artifact.state, Artifact.requested_at
    )
    return list(session.scalars(query.limit(limit).with_for_update(skip_locked=True)))


def open_for(worker: Worker, *, is_shared: bool, fresh_seconds: float) -> Select[Artifact]:
    """Return the query of what a worker should pack."""
    silent = select(Worker.id).where(Worker.last_seen_at <= seconds_from_now(-fresh_seconds))
    free: ColumnElement[bool] = or_(
        Artifact.state == "requested", Artifact.worker_id == worker.id, Artifact.worker_id.in_(silent)
    )
    query = select(Artifact).where(Artifact.state.in_(OPEN_STATES), Artifact.host.is_not(None), free)
    return query if is_shared else query.where(Artifact.host == worker.host)


def of_server(session: Session) -> Artifact | None:
    """Return the next one that the server makes itself, locked."""
    query = select(Artifact).where(Artifact.state.in_(OPEN_STATES), Artifact.host.is_(None))
    return session.scalars(
        query.order_by(Artifact.requested_at).limit(1).with_for_update(skip_locked=True)
    ).one_or_none()


def expired(session: Session, limit: int) -> Sequence[Artifact]:
    """Return the expired downloads, locked."""
    query = select(Artifact).where(Artifact.state == "ready", Artifact.expires_at < func.now())
    return session.scalars(query.limit(limit).with_for_update(skip_locked=True)).all()


def with_files(session: Session, artifact_ids: Collection[str]) -> set[str]:
    """Return the IDs among these that should have a file."""
    query = select(Artifact.id).where(
        Artifact.id.in_(artifact_ids), Artifact.state.in_(("requested", "preparing", "ready"))
    )
    return set(session.scalars(query))
