"""SQL of records."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple

from sqlalchemy import Integer, Select, any_, delete, func, literal, select, text, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from backend.models import LogPiece, MetricTail, SparseRecord, StepRow
from backend.models.records import VISIT_FIELDS
from bapo.api.runs import RECENT_STEPS

_RECENT_REWARD = text("""
    SELECT avg(reward_mean) FROM steps
    WHERE run_id = :run_id AND step > :step - :num_steps AND step <= :step
""")


def recent_reward(session: Session, run_id: str, step: int) -> float | None:
    """Return the mean fresh reward of the newest steps up to one; None where none of them has a finite one."""
    values = {"run_id": run_id, "step": step, "num_steps": RECENT_STEPS}
    mean: float | None = session.execute(_RECENT_REWARD, values).scalar_one()
    return mean


# ---------------------------------------------------------------- writing


class StepColumns(NamedTuple):
    """A row of `steps` but its run, in the order in which it is copied; as PostgreSQL receives each value."""

    step: bytes
    attempt: bytes
    reward_mean: bytes | None
    unix_time: bytes | None
    fresh_histogram: bytes
    reevaluated_histogram: bytes
    batch_histogram: bytes
    ratio_histogram: bytes | None
    record: bytes
    visits: bytes


_COPY_STEPS = f"COPY steps (run_id, {', '.join(StepColumns._fields)}) FROM STDIN (FORMAT BINARY)"
_COPY_TAILS: LiteralString = "COPY metric_tails (run_id, step, metrics) FROM STDIN (FORMAT BINARY)"

_INT8_OID = 20
_ELEMENT_BYTES = 8


_int2 = struct.Struct(">h").pack
int4 = struct.Struct(">i").pack
"""An `integer` as PostgreSQL receives it."""


def float8(value: float) -> bytes:
    """Return a `double precision` as PostgreSQL receives it."""
    return struct.pack(">d", value)


def int8_array(values: Sequence[int]) -> bytes:
    """Return a `bigint[]` as PostgreSQL receives it."""
    length = len(values)
    if not length:
        return struct.pack(">iiI", 0, 0, _INT8_OID)
    # Dimensions, whether it has NULLs, type, length, lower bound; then each number after its own length.
    elements = [_ELEMENT_BYTES] * (2 * length)
    elements[1::2] = values
    return _int8_layout(length).pack(1, 0, _INT8_OID, length, 1, *elements)


@lru_cache(maxsize=256)
def _int8_layout(length: int) -> struct.Struct:
    return struct.Struct(f">iiIii{'iq' * length}")


def jsonb(content: bytes) -> bytes:
    """Return a `jsonb` as PostgreSQL receives it."""
    return b"\x01" + content


def next_offset(session: Session, run_id: str, attempt: int, kind: str) -> int:
    """Return the offset up to which a file is stored."""
    found = session.execute(_NEXT_OFFSET, {"run_id": run_id, "attempt": attempt, "kind": kind}).scalar_one_or_none()
    return 0 if found is None else int(found)


def set_next_offset(session: Session, run_id: str, attempt: int, kind: str, offset: int) -> None:
    """Set the offset up to which a file is stored."""
    values = {"run_id": run_id, "attempt": attempt, "kind": kind, "next_offset": offset}
    session.execute(_SET_NEXT_OFFSET, values)


# As text: a statement that is put together costs more than it takes to run, and these are run for each upload.
_NEXT_OFFSET = text("""
    SELECT next_offset FROM ingest_offsets WHERE run_id = :run_id AND attempt = :attempt AND kind = :kind
""")
_SET_NEXT_OFFSET = text("""
    INSERT INTO ingest_offsets (run_id, attempt, kind, next_offset) VALUES (:run_id, :attempt, :kind, :next_offset)
    ON CONFLICT (run_id, attempt, kind) DO UPDATE SET next_offset = excluded.next_offset
""")


def steps_of_later_attempts(session: Session, run_id: str, attempt: int, steps: Sequence[int]) -> set[int]:
    """Return the steps among these that a later attempt has recorded."""
    query = select(StepRow.step).where(
        StepRow.run_id == run_id, StepRow.step == any_(literal(steps, ARRAY(Integer))), StepRow.attempt > attempt
    )
    return set(session.scalars(query))


def forget_steps(session: Session, run_id: str, steps: Sequence[int]) -> None:
    """Delete steps that will be recorded again. The run must be locked."""
    for table in (StepRow, MetricTail):
        session.execute(
            delete(table).where(table.run_id == run_id, table.step == any_(literal(steps, ARRAY(Integer)))),
            execution_options={"synchronize_session": False},
        )


def copy_steps(session: Session, run_id: str, rows: Iterable[StepColumns]) -> None:
    """Store steps that are not there.

    A row that is made while it is asked for is made while PostgreSQL takes in those before.
    """
    copy(session, _COPY_STEPS, ((run_id.encode(), *row) for row in rows))


def copy_tails(session: Session, run_id: str, rows: Iterable[tuple[int, bytes]]) -> None:
    """Store metrics, as JSON, of steps whose chunk is not complete."""
    copy(session, _COPY_TAILS, ((run_id.encode(), int4(step), jsonb(content)) for step, content in rows))


def copy(session: Session, statement: LiteralString, rows: Iterable[Sequence[bytes | None]]) -> None:
    """Store rows: several times as fast as statements with parameters, and what this server mostly does."""
    session.flush()
    connection = session.connection().connection.driver_connection
    assert connection is not None
    with connection.cursor() as cursor, cursor.copy(statement) as running:
        # Many rows in one piece: each hand-over waits for the socket.
        piece = bytearray(_COPY_HEAD)
        for row in rows:
            piece += _int2(len(row))
            for field in row:
                if field is None:
                    piece += _COPY_NULL
                else:
                    piece += int4(len(field))
                    piece += field
            if len(piece) >= _PIECE_BYTES:
                running.write(piece)
                piece = bytearray()
        running.write(piece + _COPY_END)


_PIECE_BYTES = 16_384
_COPY_HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_COPY_NULL = struct.pack(">i", -1)
_COPY_END = struct.pack(">h", -1)


def upsert_sparse(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store records over what an earlier attempt recorded in their place."""
    query = insert(SparseRecord)
    changed = {name: query.excluded[name] for name in ("attempt", "num_problems", "problems", "metrics", "record")}
    key = [SparseRecord.run_id, SparseRecord.type, SparseRecord.step, SparseRecord.identity]
    query = query.on_conflict_do_update(
        index_elements=key, set_=changed, where=SparseRecord.attempt <= query.excluded.attempt
    )
    session.connection().execute(query, rows)


def add_log(session: Session, run_id: str, attempt: int, content: str) -> None:
    """Append to the log."""
    session.add(LogPiece(run_id=run_id, attempt=attempt, text=content))


# ---------------------------------------------------------------- series


class StepRange(NamedTuple):
    """A range of steps, both ends included."""

    first: int
    last: int


class HistogramRow(NamedTuple):
    """The histograms of a step."""

    step: int
    fresh: list[int]
    reevaluated: list[int]
    batch: list[int]


def histograms(session: Session, run_id: str, steps: StepRange, every: int = 1) -> list[HistogramRow]:
    """Return the histograms of every n-th step of the range, and of its last."""
    query = (
        select(StepRow.step, StepRow.fresh_histogram, StepRow.reevaluated_histogram, StepRow.batch_histogram)
        .where(StepRow.run_id == run_id, StepRow.step.between(steps.first, steps.last))
        .order_by(StepRow.step)
    )
    if every > 1:
        newest = select(func.max(StepRow.step)).where(
            StepRow.run_id == run_id, StepRow.step.between(steps.first, steps.last)
        )
        query = query.where((StepRow.step % every == 0) | (StepRow.step == newest.scalar_subquery()))
    return [HistogramRow(*row) for row in session.execute(query)]


def ratio_histograms(session: Session, run_id: str, steps: StepRange) -> list[tuple[int, list[int] | None]]:
    """Return the histogram of ratios of each step; None where the step was skipped."""
    query = (
        select(StepRow.step, StepRow.ratio_histogram)
        .where(StepRow.run_id == run_id, StepRow.step.between(steps.first, steps.last))
        .order_by(StepRow.step)
    )
    return [(step, counts) for step, counts in session.execute(query)]


# ---------------------------------------------------------------- records and logs


class Place(NamedTuple):
    """Place of a record in the order of a run's records."""

    step: int
    identifier: int
    """0 for a training step, which comes first, else the record's own."""


class PlacedRecord(NamedTuple):
    """A record and its place."""

    place: Place
    record: dict[str, Any]


def step_records(
    session: Session, run_id: str, steps: StepRange, after: Place | None, limit: int
) -> list[PlacedRecord]:
    """Return the training steps by step."""
    query = (
        select(StepRow)
        .where(StepRow.run_id == run_id, StepRow.step.between(steps.first, steps.last))
        .order_by(StepRow.step)
        .limit(limit)
    )
    if after is not None:
        query = query.where(StepRow.step > after.step)
    return [PlacedRecord(Place(row.step, 0), whole_record(row)) for row in session.scalars(query)]


def recorded_steps(session: Session, run_id: str) -> Sequence[int]:
    """Return all recorded training steps, in order."""
    return session.scalars(select(StepRow.step).where(StepRow.run_id == run_id).order_by(StepRow.step)).all()


def whole_record(row: StepRow) -> dict[str, Any]:
    """Return the record as the trainer wrote it."""
    visits = zip(*row.visits, strict=True)
    return {**row.record, "prompts": [dict(zip(VISIT_FIELDS, visit, strict=True)) for visit in visits]}


def sparse_records(
    session: Session, run_id: str, type_: str | None, steps: StepRange, after: Place | None, limit: int
) -> list[PlacedRecord]:
    """Return evaluations, trackings and events by step, then in the order in which they came in."""
    query = (
        select(SparseRecord.step, SparseRecord.id, SparseRecord.record)
        .where(SparseRecord.run_id == run_id, SparseRecord.step.between(steps.first, steps.last))
        .order_by(SparseRecord.step, SparseRecord.id)
        .limit(limit)
    )
    if type_ is not None:
        query = query.where(SparseRecord.type == type_)
    if after is not None:
        query = query.where(tuple_(SparseRecord.step, SparseRecord.id) > after)
    return [PlacedRecord(Place(step, number), record) for step, number, record in session.execute(query)]


def last_event(session: Session, run_id: str, attempt: int, events: Collection[str]) -> dict[str, Any] | None:
    """Return the newest event of these kinds that an attempt recorded."""
    query = (
        select(SparseRecord.record)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "event", SparseRecord.attempt == attempt)
        .where(SparseRecord.record["event"].astext.in_(events))
        .order_by(SparseRecord.id.desc())
        .limit(1)
    )
    return session.scalars(query).one_or_none()


@dataclass(frozen=True)
class Log:
    """The log of a run, or what one attempt of it wrote."""

    run_id: str
    attempt: int | None = None
    """All where None."""

    @property
    def _pieces(self) -> Select[int, str]:
        query = select(LogPiece.id, LogPiece.text).where(LogPiece.run_id == self.run_id)
        return query if self.attempt is None else query.where(LogPiece.attempt == self.attempt)

    def after(self, session: Session, offset: int, limit: int) -> list[tuple[int, str]]:
        """Return the pieces after an offset."""
        query = self._pieces.where(LogPiece.id > offset).order_by(LogPiece.id).limit(limit)
        return [(number, piece) for number, piece in session.execute(query)]

    def before(self, session: Session, offset: int | None, limit: int) -> list[tuple[int, str]]:
        """Return the last pieces before an offset; without one, the end."""
        query = self._pieces if offset is None else self._pieces.where(LogPiece.id < offset)
        found = session.execute(query.order_by(LogPiece.id.desc()).limit(limit))
        return [(number, piece) for number, piece in found][::-1]
