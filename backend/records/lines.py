"""Cuts uploaded lines at the wanted offset, parses them, and rejects numbers that the database cannot hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import orjson
from pydantic import TypeAdapter, ValidationError

from backend.models import Run
from backend.models.records import VISIT_FIELDS
from bapo.api.workers import RecordBatch
from bapo.config.error_messages import error_said
from bapo.records import (
    AnyRecord,
    EventRecord,
    PromptVisits,
    StepRecord,
    TrackingRecord,
    dump_record,
    read_record,
    visit_columns,
)
from bapo.rollout import BatchSource

_VISITS: TypeAdapter[PromptVisits] = TypeAdapter(PromptVisits)
_SOURCES = frozenset(source.value for source in BatchSource)


class Line(NamedTuple):
    """A line and where it begins in its file."""

    position: int
    text: str


class VisitColumns(NamedTuple):
    """The prompts of a step, field by field: a step has many, and they are stored so."""

    prompt_id: Sequence[str] = ()
    source: Sequence[str] = ()
    num_correct: Sequence[int] = ()
    policy_version: Sequence[int | None] = ()
    in_batch: Sequence[bool] = ()
    reason: Sequence[str | None] = ()

    @property
    def is_exact(self) -> bool:
        """True if the lists are equally long and every value has exactly its field's type."""
        return (
            set(map(type, self)) == {list}
            and len(set(map(len, self))) == 1
            and set(map(type, self.prompt_id)) <= {str}
            and _SOURCES.issuperset(self.source)
            and set(map(type, self.num_correct)) <= {int}
            and set(map(type, self.policy_version)) <= {int, type(None)}
            and set(map(type, self.in_batch)) <= {bool}
            and set(map(type, self.reason)) <= {str, type(None)}
        )


_FIELDS_OF_VISIT = itemgetter(*VISIT_FIELDS)


class Loaded(NamedTuple):
    """A line of records.jsonl, read as JSON and not checked."""

    line: Line
    content: object
    """Parsed content, `None` if it is no JSON; for a step without its prompts, if these are in `visits`."""
    step: int | None
    """Number of the training step that the line claims to be; `None` for other records."""
    visits: VisitColumns | None = None
    """A step's prompts, where they are written as our writer does."""


class Parsed(NamedTuple):
    """A line of records.jsonl."""

    position: int
    record: AnyRecord
    """A step's without its prompts."""
    content: bytes
    """The line's original content, including fields of a newer writer; for a step without its prompts."""
    visits: VisitColumns = VisitColumns()
    """A step's prompts."""


def new_lines(batch: RecordBatch, stored: int) -> Sequence[Line] | None:
    """Return the lines from the stored offset on, with their places; None where the batch cannot be cut there."""
    positions = [batch.start_offset]
    for line in batch.lines:
        positions.append(positions[-1] + (len(line) if line.isascii() else len(line.encode())) + 1)
    if positions[-1] == batch.end_offset:
        if stored not in positions:
            return None
        begin = positions.index(stored)
        places = positions[begin:-1]
    else:
        # Bytes that were not UTF-8 were replaced and count differently. Places need only be distinct.
        if stored != batch.start_offset:
            return None
        begin = 0
        places = [batch.start_offset + number for number in range(len(batch.lines))]
    return [Line(place, _storable(line)) for place, line in zip(places, batch.lines[begin:], strict=True)]


def _storable(line: str) -> str:
    """Replace NUL, which PostgreSQL cannot store and a model's output may contain."""
    return line.replace("\x00", "\ufffd").replace("\\u0000", "\\ufffd")


def load(line: Line) -> Loaded:
    """Read a line of records.jsonl without checking it."""
    try:
        content = orjson.loads(line.text)
    except ValueError:
        return Loaded(line, None, None)
    if not isinstance(content, dict) or content.get("type") != "step":
        return Loaded(line, content, None)
    step = content.get("step")
    # At once: as objects, the prompts of all lines together would take far more memory than the lines.
    visits = _columns_of(content.get("prompts"))
    if visits is not None:
        content["prompts"] = []
    return Loaded(line, content, step if type(step) is int and is_integer(step) else None, visits)


def parse(loaded: Loaded, run: Run, attempt: int) -> Parsed:
    """Parse a line of records.jsonl; for an invalid one, return an event that says so. Changes the content."""
    line, content = loaded.line, loaded.content
    try:
        if content is None:
            orjson.loads(line.text)
        visits = loaded.visits or _checked_visits(content)
        record = read_record(content)
        if (fault := bounds_fault(record) or _visits_fault(visits)) is not None:
            raise ValueError(fault)
        if isinstance(record, StepRecord):
            if loaded.step is None:
                raise ValueError("step: not a whole number")
            assert isinstance(content, dict), "it was read as a step"
            del content["prompts"]
        stored = orjson.dumps(content)
    except (ValueError, orjson.JSONEncodeError) as error:
        # One bad line must not hold up all that follow. What is nested too deeply can be read and not be written.
        record = _complaint(line, run, attempt, error)
        return Parsed(line.position, record, dump_record(record))
    return Parsed(line.position, record, stored, visits)


def _columns_of(visits: object) -> VisitColumns | None:
    """Return the prompts of a step, put aside: one by one they would be most of what reading it takes.

    None where they are not as our writer writes them, and perhaps good all the same.
    """
    if not isinstance(visits, dict):
        return None
    try:
        columns = VisitColumns(*_FIELDS_OF_VISIT(visits))
        return columns if columns.is_exact else None
    except (KeyError, TypeError):
        return None


def _checked_visits(content: object) -> VisitColumns:
    """Return the prompts of a step that `_columns_of` leaves. Raises pydantic.ValidationError."""
    if not isinstance(content, dict) or content.get("type") != "step":
        return VisitColumns()
    visits = content.get("prompts")
    if not isinstance(visits, list | dict):
        return VisitColumns()
    content["prompts"] = []
    return VisitColumns(**visit_columns(_VISITS.validate_python(visits)))


def _visits_fault(visits: VisitColumns) -> str | None:
    """Return the error of a step's prompts; `None` if there is none."""
    return outside(visits.num_correct, 0, MAX_INTEGER) or outside(visits.policy_version, -MAX_BIGINT, MAX_BIGINT)


def _complaint(line: Line, run: Run, attempt: int, error: Exception) -> EventRecord:
    cause = error_said(error) if isinstance(error, ValidationError) else str(error)
    return EventRecord(
        attempt=attempt,
        step=run.step,
        event="warning",
        message=f"the line at byte {line.position} of attempt-{attempt}/records.jsonl is not a record: {cause}",
        data={"line": line.text[:1_000]},
    )


MAX_INTEGER = 2**31 - 1
MAX_BIGINT = 2**63 - 1


def bounds_fault(record: AnyRecord) -> str | None:
    """Return the error of a well-formed record with numbers that columns cannot hold; `None` if there is none."""
    for value in _integers(record):
        if not is_integer(value):
            return _out_of_range(value)
    if isinstance(record, StepRecord):
        return outside(_bigints(record), -MAX_BIGINT, MAX_BIGINT)
    if isinstance(record, EventRecord):
        for name in ("num_steps", "applied_step"):
            value = record.data.get(name, 0)
            if type(value) is not int or not is_integer(value):
                return f"{name}: {_out_of_range(value)}"
        if not isinstance(record.data.get("set", {}), dict):
            return "set: not an object"
    return None


def is_integer(value: int) -> bool:
    """Return whether a column of counts holds the number."""
    return 0 <= value <= MAX_INTEGER


def outside(values: Sequence[int | None], lowest: int, highest: int) -> str | None:
    """Return the error naming the first number out of bounds; `None` if there is none."""
    # Most are the same few, and this looks at every prompt of every step.
    distinct = {*values} - {None}
    if not distinct or (lowest <= min(distinct) and max(distinct) <= highest):  # type: ignore[type-var, operator]
        return None
    return _out_of_range(next(value for value in values if value is not None and not lowest <= value <= highest))


def _out_of_range(value: object) -> str:
    return f"{str(value)[:40]} is not a number that can be stored here"


def _integers(record: AnyRecord) -> Iterator[int]:
    yield record.step
    if isinstance(record, StepRecord):
        yield record.num_steps or 0
    elif isinstance(record, TrackingRecord):
        yield record.replicate


def _bigints(record: StepRecord) -> Sequence[int]:
    return [
        record.cost.num_rollouts,
        *record.fresh_histogram,
        *record.reevaluated_histogram,
        *record.batch_histogram,
        *(() if record.update is None else record.update.ratio_histogram),
    ]
