"""Lines of a journal: evaluations, trackings and events, and the reading and writing of all kinds.

Two runs are equal when `comparable` gives the same for all their step, evaluation and tracking records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from bapo.records.base import SCHEMA, Counts, Figures, Record, SchemaNumber
from bapo.records.step import StepRecord
from bapo.rollout import problems_digest


class Interval(Record):
    """A figure with its 95 % confidence interval."""

    value: float
    low: float
    high: float


class EvaluationRecord(Record):
    """One held-out set answered by the current policy."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["evaluation"] = "evaluation"
    attempt: int
    step: int
    """Completed training steps; 0 is the base model."""
    dataset: str
    """Name of the held-out set, such as "CD-34"."""
    num_samples: int
    """k of avg@k."""
    num_correct: Counts
    """Correct of k samples, per problem."""
    prompt_ids: Sequence[str]
    problems: str | None = None
    """Digest of the problems and their answers; None where the answers are not known, as in records of observers and of
    version 0.2."""
    avg_at_k: Interval
    greedy: Interval | None = None
    """`None` if an observed trainer sampled no greedy responses."""
    pass_at: Mapping[int, Interval]
    timing: Figures

    @property
    def problem_set(self) -> str:
        """Digest that identifies the set: of the problems alone if the answers are not known."""
        return self.problems or problems_digest(self.prompt_ids)


class TrackingRecord(Record):
    """The tracked training prompts, sampled G times by the current policy apart from training."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["tracking"] = "tracking"
    attempt: int
    step: int
    replicate: int
    """0, and at step 0 also 1: the base model sampled again, the null of every unlock rate."""
    group_size: int
    prompt_ids: Sequence[str]
    num_correct: Counts
    timing: Figures


class EventRecord(Record):
    """Something that happened between steps."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["event"] = "event"
    attempt: int
    step: int
    """Completed training steps at the time."""
    event: Literal[
        "warm_start",
        "started",
        "resumed",
        "forked",
        "warning",
        "checkpoint",
        "checkpoint_damaged",
        "parameter_change",
        "parameter_refused",
        "request_withdrawn",
        "stop",
        "finished",
        "failed",
    ]
    message: str
    """One sentence for people."""
    data: Mapping[str, Any] = {}
    """`parameter_*`, `request_withdrawn` and `stop`: id, author, set; `checkpoint`: checkpoint, and best, the step of
    the best one; `resumed`: checkpoint, from_step; `forked`: these and parent; `warm_start`: phase (begun, made or
    reused), and the content of the model's `warm_start.json` but for the task."""
    timing: Figures = {}
    """`unix_time`."""


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
    """Return the record without what may differ between equal runs: `timing`, `spans`, `system` and `attempt`."""
    # By way of JSON text, in which a NaN equals a NaN.
    content: dict[str, Any] = json.loads(dump_record(record))
    return {name: value for name, value in content.items() if name not in ("timing", "spans", "system", "attempt")}
