"""SQL of chats."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Select, delete, func, or_, select
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.kit.errors import existing
from backend.models import Attempt, Chat, Run, User, Worker

OPEN_STATES = ("requested", "answering")
OPEN_SECONDS = 900.0
"""A chat without an answer for so long has failed: its worker is gone, or of a release without chats."""


def of_run(session: Session, run_id: str, limit: int) -> Sequence[Chat]:
    """Return the newest chats of a run, newest first."""
    query = select(Chat).join(Run).where(Chat.run_id == run_id)
    return session.scalars(query.order_by(Chat.requested_at.desc(), Chat.id).limit(limit)).all()


def get(session: Session, run_id: str, chat_id: str) -> Chat:
    """Return one chat of a run. Raises Problem 404."""
    query = select(Chat).join(Run).where(Chat.id == chat_id, Chat.run_id == run_id)
    return existing(session.scalars(query).one_or_none(), "chat", chat_id)


def lock(session: Session, chat_id: str) -> Chat | None:
    """Return one chat, locked until the transaction ends."""
    return session.scalars(select(Chat).where(Chat.id == chat_id).with_for_update()).one_or_none()


def open_of(session: Session, user_id: str, author: str) -> Chat | None:
    """Return the chat of this person that is not answered yet; the person's next one waits for this transaction."""
    session.execute(select(User.id).where(User.id == user_id).with_for_update())
    query = select(Chat).join(Run).where(_is_open(), Chat.author == author)
    return session.scalars(query.limit(1)).one_or_none()


def keep_newest(session: Session, run_id: str, count: int) -> None:
    """Delete all chats of a run but the newest."""
    newest = select(Chat.id).where(Chat.run_id == run_id).order_by(Chat.requested_at.desc(), Chat.id).limit(count)
    session.execute(delete(Chat).where(Chat.run_id == run_id, Chat.id.not_in(newest)))


def num_trained_beside(session: Session, run: Run, *, is_shared: bool, fresh_seconds: float) -> int | None:
    """Return how many runs the workers train that reach the run's folder; None where none of them is connected."""
    query = (
        select(func.count(Worker.id.distinct()), func.count(Attempt.run_id))
        .select_from(Worker)
        .join(Attempt, (Attempt.worker_id == Worker.id) & (Attempt.state != "ended"), isouter=True)
        .where(Worker.forgotten_at.is_(None), Worker.last_seen_at > seconds_from_now(-fresh_seconds))
    )
    num_workers, num_runs = session.execute(query if is_shared else query.where(Worker.host == run.host)).one()
    return num_runs if num_workers else None


def to_answer(session: Session, worker: Worker, *, is_shared: bool, fresh_seconds: float) -> Chat | None:
    """Return the chat that this worker should have answered next, locked."""
    query = open_for(worker, is_shared=is_shared, fresh_seconds=fresh_seconds).order_by(Chat.requested_at)
    return session.scalars(query.limit(1).with_for_update(skip_locked=True, of=Chat)).one_or_none()


def open_for(worker: Worker, *, is_shared: bool, fresh_seconds: float) -> Select[Chat]:
    """Return the query of what a worker should have answered: its own, unassigned ones, and those of silent workers."""
    silent = select(Worker.id).where(Worker.last_seen_at <= seconds_from_now(-fresh_seconds))
    free: ColumnElement[bool] = or_(Chat.worker_id.is_(None), Chat.worker_id == worker.id, Chat.worker_id.in_(silent))
    query = select(Chat).join(Run).where(_is_open(), free)
    return query if is_shared else query.where(Chat.host == worker.host)


def _is_open() -> ColumnElement[bool]:
    return Chat.state.in_(OPEN_STATES) & (Chat.requested_at > seconds_from_now(-OPEN_SECONDS))
