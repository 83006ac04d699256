"""Reads and writes journal lines.

Two runs are equal when `comparable` gives the same for all their step, evaluation and tracking records.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from bapo.records.base import Record
from bapo.records.journal import EvaluationRecord, EventRecord, TrackingRecord
from bapo.records.step import StepRecord

AnyRecord = Annotated[StepRecord | EvaluationRecord | TrackingRecord | EventRecord, Field(discriminator="type")]
_ADAPTER: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)


def parse_record(line: str | bytes) -> AnyRecord:
    """Return one journal line. Raises pydantic.ValidationError where it is not a record of a known schema."""
    return _ADAPTER.validate_json(line)


def read_record(content: Any) -> AnyRecord:
    """Return a journal line that is parsed already. Raises pydantic.ValidationError as `parse_record`."""
    return _ADAPTER.validate_python(content)


def dump_record(record: Record) -> bytes:
    """Return one journal line, newline included."""
    return record.model_dump_json(by_alias=True).encode() + b"\n"


def comparable(record: AnyRecord) -> dict[str, Any]:
    """Return the record without what may differ between equal runs: `timing`, `system` and `attempt`."""
    # By way of JSON text, in which a NaN equals a NaN.
    content: dict[str, Any] = json.loads(dump_record(record))
    return {name: value for name, value in content.items() if name not in ("timing", "system", "attempt")}
