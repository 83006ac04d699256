"""SQL of workers and of what they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, extract, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.kit.database import seconds_from_now
from backend.models import ApiToken, Attempt, Run, Worker
from backend.models.runs import FENCING_TOKENS
from backend.workers.machines import Gpu, Machine
from bapo.api.runs import RunStatus
from bapo.api.workers import WorkerRegistration


def register(session: Session, token_id: str, body: WorkerRegistration) -> Worker | None:
    """Return the worker of that name, made or brought up to date; None where another valid token has the name."""
    values = {
        "host": body.host,
        "slots": body.slots,
        "gpus": [gpu.model_dump() for gpu in body.gpus],
        "memory_gib": body.memory_gib,
        "version": body.version,
        "drain_before": body.drain_before,
        "delivery": body.delivery,
        "token_id": token_id,
    }
    valid = select(ApiToken.id).where(ApiToken.id == Worker.token_id, ApiToken.revoked_at.is_(None))
    query = (
        insert(Worker)
        .values(name=body.name, queue="", **values)
        .on_conflict_do_update(
            index_elements=[Worker.name],
            set_={**values, "registered_at": func.now(), "last_seen_at": func.now(), "forgotten_at": None},
            where=(Worker.token_id == token_id) | ~valid.exists() | Worker.forgotten_at.is_not(None),
        )
        .returning(Worker)
    )
    worker = session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if worker is not None:
        worker.queue = f"worker-{worker.id}"
    return worker


def get(session: Session, token_id: str, worker_id: str) -> Worker | None:
    """Return a worker that this token speaks for."""
    return session.scalars(select(Worker).where(Worker.id == worker_id, Worker.token_id == token_id)).one_or_none()


def speaks_for(session: Session, token_id: str, worker_id: str) -> bool:
    """Return whether this token speaks for the worker."""
    return session.execute(_SPEAKS_FOR, {"worker_id": worker_id, "token_id": token_id}).first() is not None


_SPEAKS_FOR = text("SELECT 1 FROM workers WHERE id = :worker_id AND token_id = :token_id")


def touch(session: Session, worker: Worker, system: dict[str, float]) -> None:
    """Record that the worker has sent a heartbeat."""
    query = update(Worker).where(Worker.id == worker.id).values(last_seen_at=func.now(), system=system)
    session.execute(query.execution_options(synchronize_session=False))


class WorkerRow(NamedTuple):
    """A worker with what it holds."""

    worker: Worker
    is_fresh: bool
    run_ids: list[str]
    """Those that the session sees."""
    busy: int
    """Slots in use, by all runs."""


def workers(session: Session, fresh_seconds: float) -> list[WorkerRow]:
    """Return all workers by name."""
    is_fresh = Worker.last_seen_at > seconds_from_now(-fresh_seconds)
    known = select(Worker, is_fresh).where(Worker.forgotten_at.is_(None))
    found = session.execute(known.order_by(Worker.name)).all()
    held: dict[str, list[str | None]] = {}
    active = (
        select(Attempt.worker_id, Run.id)
        .join(Run, Run.id == Attempt.run_id, isouter=True)
        .where(Attempt.state != "ended")
        .order_by(Attempt.assigned_at)
    )
    for worker_id, run_id in session.execute(active):
        assert worker_id is not None, "an imported attempt is ended from the start"
        held.setdefault(worker_id, []).append(run_id)
    return [
        WorkerRow(worker, fresh, [run_id for run_id in held.get(worker.id, []) if run_id], len(held.get(worker.id, [])))
        for worker, fresh in found
    ]


# ---------------------------------------------------------------- attempts


def next_fencing_token(session: Session) -> int:
    """Return a fencing token, larger than all before."""
    return int(session.scalars(select(FENCING_TOKENS.next_value())).one())


def extend_lease(session: Session, attempt: Attempt, seconds: float, **measured: float | None) -> None:
    """Extend the lease: the worker has this much time for its next heartbeat. Does nothing if the attempt has ended.

    `measured`, such as `stop_seconds`, replaces what was measured before.
    """
    query = update(Attempt).where(
        Attempt.run_id == attempt.run_id, Attempt.number == attempt.number, Attempt.state != "ended"
    )
    query = query.values(lease_expires_at=seconds_from_now(seconds), **measured)
    session.execute(query.execution_options(synchronize_session=False))


def end_all_pauses(session: Session) -> None:
    """Let runs that wait for their next try wait no longer: by a clock that was set back it might never come."""
    waiting = (Run.status == RunStatus.QUEUED) & Run.not_before.is_not(None)
    session.execute(update(Run).where(waiting).values(not_before=None))


def begin_all_leases_anew(session: Session, seconds: float) -> None:
    """Renew all leases after a time in which no worker could send heartbeats, or after a change of the clock.

    A lease that ended long ago must not lose a run whose worker is well, and one that ends in an hour not hide a dead
    one; likewise when workers were heard of and messages sent.
    """
    statements = (
        update(Attempt)
        .where(Attempt.state.in_(("claimed", "running")))
        .values(lease_expires_at=seconds_from_now(seconds)),
        update(Attempt).where(Attempt.state == "assigned", Attempt.sent_at > func.now()).values(sent_at=None),
        update(Worker).where(Worker.last_seen_at > func.now()).values(last_seen_at=func.now()),
    )
    for statement in statements:
        session.execute(statement.execution_options(synchronize_session=False))


def with_token(session: Session, run_id: str, fencing_token: int) -> Attempt | None:
    """Return the attempt that was claimed with this token."""
    query = select(Attempt).where(Attempt.run_id == run_id, Attempt.fencing_token == fencing_token)
    return session.scalars(query).one_or_none()


def expired(session: Session) -> Sequence[tuple[str, int]]:
    """Run and number of the attempts whose lease is over."""
    query = select(Attempt.run_id, Attempt.number).where(
        Attempt.state.in_(("claimed", "running")), Attempt.lease_expires_at < func.now()
    )
    return session.execute(query).all()


def is_expired(session: Session, attempt: Attempt) -> bool:
    """Return whether this lease is over now."""
    query = select(Attempt.lease_expires_at < func.now())
    query = query.where(Attempt.run_id == attempt.run_id, Attempt.number == attempt.number)
    return bool(session.scalars(query).one())


def withdraw_from_stale_workers(session: Session, fresh_seconds: float) -> None:
    """Take promised runs back from workers that are not heard of."""
    stale = select(Worker.id).where(Worker.last_seen_at <= seconds_from_now(-fresh_seconds))
    query = delete(Attempt).where(Attempt.state == "assigned", Attempt.worker_id.in_(stale))
    session.execute(query.execution_options(synchronize_session=False))


# ---------------------------------------------------------------- dispatch


def machines(session: Session, fresh_seconds: float | None) -> list[Machine]:
    """Return the online workers that take runs, with what their runs hold; with `None` all known workers."""
    held = (
        select(
            Attempt.worker_id,
            func.count().label("slots"),
            func.sum(Attempt.memory_gib).label("memory"),
            func.json_agg(Attempt.gpus).label("gpus"),
        )
        .where(Attempt.state != "ended")
        .group_by(Attempt.worker_id)
        .subquery()
    )
    seconds_left = extract("epoch", Worker.drain_before - func.now())
    query = (
        select(Worker, held.c.slots, held.c.memory, held.c.gpus, seconds_left)
        .join(held, held.c.worker_id == Worker.id, isouter=True)
        .where(Worker.forgotten_at.is_(None))
        .order_by(Worker.name)
    )
    if fresh_seconds is not None:
        query = query.where(Worker.last_seen_at > seconds_from_now(-fresh_seconds), Worker.draining_at.is_(None))
    return [
        Machine(
            id=worker.id,
            name=worker.name,
            host=worker.host,
            slots=worker.slots,
            gpus=tuple(Gpu(gpu["index"], gpu["memory_gib"]) for gpu in worker.gpus),
            memory_gib=worker.memory_gib,
            slots_held=slots or 0,
            gpus_held=frozenset(index for indices in gpus or () for index in indices),
            memory_held_gib=memory or 0.0,
            seconds_left=None if left is None else float(left),
        )
        for worker, slots, memory, gpus, left in session.execute(query)
    ]


def num_connected(session: Session, fresh_seconds: float) -> int:
    """Return the number of online workers, including those that are draining."""
    query = select(func.count()).select_from(Worker)
    return session.scalars(query.where(Worker.last_seen_at > seconds_from_now(-fresh_seconds))).one()


def is_fresh(session: Session, worker: Worker, seconds: float) -> bool:
    """Return whether the worker was heard of in this time."""
    query = select(Worker.last_seen_at > seconds_from_now(-seconds)).where(Worker.id == worker.id)
    return bool(session.scalars(query).one())


def num_held(session: Session, worker: Worker) -> int:
    """Return the number of the worker's attempts that have not ended."""
    query = select(func.count()).select_from(Attempt).where(Attempt.worker_id == worker.id, Attempt.state != "ended")
    return session.scalars(query).one()


def withdraw(session: Session, worker_id: str) -> None:
    """Take back what a worker was promised and has not claimed."""
    query = delete(Attempt).where(Attempt.state == "assigned", Attempt.worker_id == worker_id)
    session.execute(query.execution_options(synchronize_session=False))


def withdraw_where_gpus_are_gone(session: Session, worker: Worker) -> None:
    """Take back promises of GPUs that the worker may not use any more."""
    indices = [gpu["index"] for gpu in worker.gpus]
    query = delete(Attempt).where(
        Attempt.state == "assigned", Attempt.worker_id == worker.id, ~Attempt.gpus.contained_by(indices)
    )
    session.execute(query.execution_options(synchronize_session=False))


def gpus_held_by_others(session: Session, attempt: Attempt) -> set[int]:
    """Return the GPUs of an attempt's worker that other attempts hold."""
    query = select(Attempt.gpus).where(
        Attempt.worker_id == attempt.worker_id, Attempt.state != "ended", Attempt.run_id != attempt.run_id
    )
    return {index for gpus in session.scalars(query) for index in gpus}


RESEND_SECONDS = 5.0
"""A promised run that is not claimed by then is sent again."""


class Message(NamedTuple):
    """A run that its worker is to look at."""

    run_id: str
    number: int
    queue: str


def unsent_to_queues(session: Session) -> list[Message]:
    """Return the promised runs of workers that listen to the broker, not sent or not claimed for a while."""
    return _unsent(session, Worker.delivery == "broker")


def unsent_to(session: Session, worker: Worker) -> list[Message]:
    """Return the promised runs of this worker that were not sent or not claimed for a while."""
    return _unsent(session, Worker.id == worker.id)


def _unsent(session: Session, whose: ColumnElement[bool]) -> list[Message]:
    query = (
        select(Attempt.run_id, Attempt.number, Worker.queue)
        .join(Worker, Attempt.worker_id == Worker.id)
        .where(Attempt.state == "assigned", whose)
        .where(Attempt.sent_at.is_(None) | (Attempt.sent_at < seconds_from_now(-RESEND_SECONDS)))
        .order_by(Attempt.assigned_at)
    )
    return [Message(*row) for row in session.execute(query)]


def mark_sent(session: Session, message: Message) -> None:
    """Record that the broker has the message, or that the answer to the worker's own request contains it."""
    query = update(Attempt).where(Attempt.run_id == message.run_id, Attempt.number == message.number)
    query = query.values(sent_at=func.now(), num_sent=Attempt.num_sent + 1)
    session.execute(query.execution_options(synchronize_session=False))
