"""SQL of records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, NamedTuple

import orjson
from sqlalchemy import Integer, Select, any_, delete, func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from backend.models import IngestOffset, LogPiece, SparseRecord, StepRow

# ---------------------------------------------------------------- writing


class StepColumns(NamedTuple):
    """A row of `steps` but its run, in the order in which it is copied; arrays and JSON as PostgreSQL reads them."""

    step: int
    attempt: int
    metrics: str | None
    """None where they are in a chunk."""
    fresh_histogram: str
    reevaluated_histogram: str
    batch_histogram: str
    record: str
    prompt_ids: str
    prompt_sources: str
    prompt_num_correct: str
    prompt_policy_versions: str
    prompt_in_batch: str
    prompt_reasons: str


_COPY_STEPS = f"COPY steps (run_id, {', '.join(StepColumns._fields)}) FROM STDIN"


def array_of(values: Sequence[float | None] | Sequence[str | None]) -> str:
    """Numbers, truth values or texts as PostgreSQL reads an array."""
    text = orjson.dumps(values).decode()
    if "\\" in text:
        # Where JSON escapes nothing it is written like an array, null included; else the texts are quoted one by one.
        return "{" + ",".join("NULL" if value is None else _quoted(str(value)) for value in values) + "}"
    return f"{{{text[1:-1]}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def next_offset(session: Session, run_id: str, attempt: int, kind: str) -> int:
    """Offset up to which a file is stored."""
    offset = session.get(IngestOffset, (run_id, attempt, kind))
    return 0 if offset is None else offset.next_offset


def set_next_offset(session: Session, run_id: str, attempt: int, kind: str, offset: int) -> None:
    """A file is stored up to here."""
    values = {"run_id": run_id, "attempt": attempt, "kind": kind, "next_offset": offset}
    query = insert(IngestOffset).values(values)
    key = [IngestOffset.run_id, IngestOffset.attempt, IngestOffset.kind]
    session.execute(query.on_conflict_do_update(index_elements=key, set_={"next_offset": offset}))


def steps_of_later_attempts(session: Session, run_id: str, attempt: int, steps: Sequence[int]) -> set[int]:
    """The steps among these that a later attempt has recorded."""
    query = select(StepRow.step).where(
        StepRow.run_id == run_id, StepRow.step == any_(literal(steps, ARRAY(Integer))), StepRow.attempt > attempt
    )
    return set(session.scalars(query))


def replace_steps(session: Session, run_id: str, steps: Sequence[int], rows: Iterable[StepColumns]) -> None:
    """Store steps, replacing those of an earlier attempt. The run must be locked.

    A row that is made while it is asked for is made while PostgreSQL takes in the one before.
    """
    session.execute(
        delete(StepRow).where(StepRow.run_id == run_id, StepRow.step == any_(literal(steps, ARRAY(Integer)))),
        execution_options={"synchronize_session": False},
    )
    copy(session, _COPY_STEPS, ((run_id, *row) for row in rows))


def copy(session: Session, statement: LiteralString, rows: Iterable[Sequence[object]]) -> None:
    """Store rows: several times as fast as statements with parameters, and what this server mostly does."""
    session.flush()
    connection = session.connection().connection.driver_connection
    assert connection is not None
    with connection.cursor() as cursor, cursor.copy(statement) as running:
        for row in rows:
            running.write_row(row)


def upsert_sparse(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store records over what an earlier attempt recorded in their place."""
    query = insert(SparseRecord)
    changed = {name: query.excluded[name] for name in ("attempt", "metrics", "record")}
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
    """The histograms of every n-th step of the range, and of its last."""
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
    """The histogram of ratios of each step; None where the step was skipped."""
    query = (
        select(StepRow.step, StepRow.record[("update", "ratio_histogram")])
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
    """Training steps by step."""
    query = (
        select(StepRow)
        .where(StepRow.run_id == run_id, StepRow.step.between(steps.first, steps.last))
        .order_by(StepRow.step)
        .limit(limit)
    )
    if after is not None:
        query = query.where(StepRow.step > after.step)
    return [PlacedRecord(Place(row.step, 0), whole_record(row)) for row in session.scalars(query)]


def whole_record(row: StepRow) -> dict[str, Any]:
    """The record as the trainer wrote it."""
    visits = zip(
        row.prompt_ids,
        row.prompt_sources,
        row.prompt_num_correct,
        row.prompt_policy_versions,
        row.prompt_in_batch,
        row.prompt_reasons,
        strict=True,
    )
    names = ("prompt_id", "source", "num_correct", "policy_version", "in_batch", "reason")
    return {**row.record, "prompts": [dict(zip(names, visit, strict=True)) for visit in visits]}


def sparse_records(
    session: Session, run_id: str, type_: str | None, steps: StepRange, after: Place | None, limit: int
) -> list[PlacedRecord]:
    """Evaluations, trackings and events by step, then in the order in which they came in."""
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
    """The newest event of these kinds that an attempt recorded."""
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
        """Pieces after an offset."""
        query = self._pieces.where(LogPiece.id > offset).order_by(LogPiece.id).limit(limit)
        return [(number, piece) for number, piece in session.execute(query)]

    def before(self, session: Session, offset: int | None, limit: int) -> list[tuple[int, str]]:
        """The last pieces before an offset; without one, the end."""
        query = self._pieces if offset is None else self._pieces.where(LogPiece.id < offset)
        found = session.execute(query.order_by(LogPiece.id.desc()).limit(limit))
        return [(number, piece) for number, piece in found][::-1]
