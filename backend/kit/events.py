"""Announces events within a transaction, and reads the event log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import delete, event, func, select, text
from sqlalchemy.orm import Session, SessionTransaction

from backend.models import Run, StreamRow
from bapo.api.records import StreamEvent
from bapo.api.runs import RunStatus

CHANNEL = "bapo_stream"
DELETED_CHANNEL = "bapo_deleted"
"""Identifiers of runs that are deleted, of which no row is left to tell."""
ASSIGNED_CHANNEL = "bapo_assigned"
"""Identifiers of workers to which a run was assigned: those that ask the server for their runs wait for it."""
STREAM_LOCK = 0x6261706F02
"""Advisory lock of the event log."""
REPLAY_LIMIT = 5_000
MAX_TEXT_CHARACTERS = 500
"""A notification of PostgreSQL holds 8,000 bytes."""


class Announcement(NamedTuple):
    """An event that becomes public with the commit."""

    run_id: str
    event: str
    data: dict[str, Any]


def announce(session: Session, run_id: str, name: str, data: dict[str, Any]) -> None:
    """Notify all subscribers once the transaction is committed."""
    session.info.setdefault("announcements", []).append(Announcement(run_id, name, {"run_id": run_id, **data}))


def announce_status(session: Session, run: Run, before: RunStatus | None = None) -> None:
    """Publish that the run's row changed; `before` is its previous state, if that changed."""
    moved = {} if before is None else {"from": before.value}
    announce(session, run.id, "status", status_data(run) | moved)


def announce_deletion(session: Session, run_id: str) -> None:
    """Notify every server process once the transaction is committed."""
    session.execute(select(func.pg_notify(DELETED_CHANNEL, run_id)))


def announce_assignment(session: Session, worker_id: str) -> None:
    """Notify the server process in which this worker may be waiting, once the transaction is committed."""
    session.execute(select(func.pg_notify(ASSIGNED_CHANNEL, worker_id)))


def status_data(run: Run) -> dict[str, Any]:
    """Return the data of a `status` event."""
    return {
        "status": run.status.value,
        "name": run.name,
        "step": run.step,
        "num_steps": run.num_steps,
        "attempt": run.attempt,
        "reason": None if run.status_reason is None else run.status_reason[:MAX_TEXT_CHARACTERS],
    }


def _publish(session: Session) -> None:
    """Write the announcements as the transaction's last act: the holder of the lock waits for no other lock."""
    if session.in_nested_transaction():
        return
    announcements: list[Announcement] = session.info.pop("announcements", [])
    if not announcements:
        return
    session.flush()
    rows = orjson.dumps([each._asdict() for each in announcements]).decode()
    session.execute(_PUBLISH, {"rows": rows, "channel": CHANNEL, "lock": STREAM_LOCK})


_PUBLISH = text("""
    WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(:lock)),
    published AS (
        INSERT INTO stream (run_id, event, data)
        SELECT run_id, event, data
        -- Identifiers are given to sorted rows, and the lock is held before there is one to sort.
        FROM locked, ROWS FROM (jsonb_to_recordset(CAST(:rows AS jsonb)) AS (run_id text, event text, data jsonb))
             WITH ORDINALITY AS announced(run_id, event, data, place)
        ORDER BY place
        RETURNING id, event, data
    )
    SELECT pg_notify(:channel, jsonb_build_object('id', id, 'event', event, 'data', data)::text)
    FROM published ORDER BY id
""")


def _forget(session: Session, _: SessionTransaction) -> None:
    session.info.pop("announcements", None)


def publish_on_commit(session_class: type[Session]) -> None:
    """Make every commit of these sessions publish what was announced in it."""
    event.listen(session_class, "before_commit", _publish)
    event.listen(session_class, "after_soft_rollback", _forget)


def events_after(session: Session, last_id: int, run_id: str | None) -> Sequence[StreamEvent]:
    """Return the events published since, of one run or all, oldest first."""
    # The join leaves out what the session does not see.
    query = select(StreamRow).join(Run, Run.id == StreamRow.run_id).where(StreamRow.id > last_id)
    query = query.order_by(StreamRow.id).limit(REPLAY_LIMIT)
    if run_id is not None:
        query = query.where(StreamRow.run_id == run_id)
    return [
        StreamEvent.model_validate({"id": row.id, "event": row.event, "data": row.data})
        for row in session.scalars(query)
    ]


def latest_id(session: Session) -> int:
    """Return the newest event's identifier."""
    return session.scalars(select(func.coalesce(func.max(StreamRow.id), 0))).one()


def prune(session: Session, seconds: float) -> None:
    """Forget events older than this."""
    age = func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    session.execute(delete(StreamRow).where(StreamRow.at < func.now() - age))
