"""Recorded data of runs, what was found in it, and the event log.

A step's record is one row, packed. Its metrics are read far more often than written, one key over many steps, so that
every hundred complete steps are turned into one array per key (`MetricChunk`); until then they wait in `MetricTail`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Identity, Index, func
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base
from backend.models.packed_json import PackedJson

RUN_ID = "runs.id"


INHERITED_ATTEMPT = 0
"""Attempt of the records that a fork has from its parent: any attempt of the fork itself replaces them."""


class StepRow(Base):
    """One training step, as the latest attempt recorded it."""

    __tablename__ = "steps"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    reward_mean: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    """`None` if it is no finite number; so is the next."""
    unix_time: Mapped[float | None] = mapped_column(DOUBLE_PRECISION)
    fresh_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    reevaluated_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    batch_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    ratio_histogram: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    record: Mapped[dict[str, Any]] = mapped_column(PackedJson)
    """Without `prompts`."""
    visits: Mapped[list[list[Any]]] = mapped_column(PackedJson)
    """`prompts`, as one list per field of `VISIT_FIELDS`."""


VISIT_FIELDS = ("prompt_id", "source", "num_correct", "policy_version", "in_batch", "reason")
"""In the order of what is stored: it does not follow a change of the record's."""


class MetricTail(Base):
    """Metrics of a step whose chunk is not complete."""

    __tablename__ = "metric_tails"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    metrics: Mapped[dict[str, Any]]


class MetricChunk(Base):
    """One key's values of steps chunk·100 + 1 .. (chunk + 1)·100; NaN, or NULL, where a step lacks the key."""

    __tablename__ = "metric_chunks"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    chunk: Mapped[int] = mapped_column(primary_key=True)
    series: Mapped[list[float | None]] = mapped_column(ARRAY(DOUBLE_PRECISION))


class MetricKey(Base):
    """Names of the metrics that a run has recorded."""

    __tablename__ = "metric_keys"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)


class RunMetrics(Base):
    """The newest value of each metric of a run, by which lists of runs are sorted, filtered and grouped."""

    __tablename__ = "run_metrics"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    latest: Mapped[dict[str, Any]]


class SparseRecord(Base):
    """Evaluations, tracking samplings and events: few per run, kept whole."""

    __tablename__ = "sparse_records"
    __table_args__ = (Index("ix_sparse_records_order", "run_id", "type", "step", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), unique=True)
    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    type: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str] = mapped_column(primary_key=True)
    """Key by which a later attempt replaces the record: the data set, the replicate; for an event its position."""
    attempt: Mapped[int]
    num_problems: Mapped[int | None]
    """Size of the held-out set, for an evaluation; the next is its digest."""
    problems: Mapped[str | None]
    """Digest: `EvaluationRecord.problem_set`."""
    metrics: Mapped[dict[str, Any]]
    record: Mapped[dict[str, Any]]


class Sample(Base):
    """A group of a step with its responses as text."""

    __tablename__ = "samples"
    __table_args__ = (Index("ix_samples_prompt", "run_id", "prompt_id", "step"),)

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    """Byte offset of the line in its attempt's file."""
    attempt: Mapped[int]
    prompt_id: Mapped[str]
    source: Mapped[str]
    num_correct: Mapped[int]
    record: Mapped[dict[str, Any]]


class PromptText(Base):
    """The text of a prompt, from its first line in `samples.jsonl`."""

    __tablename__ = "prompt_texts"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    prompt_id: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[str]
    answer: Mapped[dict[str, Any]]


class LogPiece(Base):
    """Some lines of the trainer's output."""

    __tablename__ = "log_pieces"
    __table_args__ = (Index("ix_log_pieces_run", "run_id", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"))
    attempt: Mapped[int]
    text: Mapped[str]


class IngestOffset(Base):
    """The number of stored bytes of an attempt's file."""

    __tablename__ = "ingest_offsets"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    next_offset: Mapped[int] = mapped_column(BigInteger)


class RunFindings(Base):
    """The findings of a run when it was last looked at: for the list of runs, and for alerts."""

    __tablename__ = "run_findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger)
    """Revision of the run's records at that time."""
    step: Mapped[int]
    is_over: Mapped[bool]
    """True if the run had ended, so that it need not be looked at again."""
    found: Mapped[Sequence[dict[str, Any]]] = mapped_column(JSONB)
    """Kind, severity and title of each, most severe first."""
    probe: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """Short result of a probe (`ProbeFigures`), for the data set that it was made on; `None` for other runs."""
    found_at: Mapped[datetime] = mapped_column(server_default=func.now())


class StreamRow(Base):
    """One server-sent event. Rows are written under a lock, so that identifiers are in the order of the commits."""

    __tablename__ = "stream"
    __table_args__ = (Index("ix_stream_run", "run_id", "id"), Index("ix_stream_at", "at"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    event: Mapped[str]
    data: Mapped[dict[str, Any]]
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
