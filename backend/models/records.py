"""Recorded data of runs.

A step's record is one row. Its metrics are read far more often than written, one key over many steps, so that every
hundred complete steps are turned into one array per key (`MetricChunk`); until then they wait in the row.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base

RUN_ID = "runs.id"


class StepRow(Base):
    """One training step, as the latest attempt recorded it."""

    __tablename__ = "steps"
    __table_args__ = (Index("ix_steps_tail", "run_id", "step", postgresql_where=text("metrics IS NOT NULL")),)

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    metrics: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    """None once they are in chunks."""
    fresh_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    reevaluated_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    batch_histogram: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    record: Mapped[dict[str, Any]]
    """Without `prompts`, which the next six columns hold, one element per visit."""
    prompt_ids: Mapped[list[str]] = mapped_column(ARRAY(Text))
    prompt_sources: Mapped[list[str]] = mapped_column(ARRAY(Text))
    prompt_num_correct: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    prompt_policy_versions: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    prompt_in_batch: Mapped[list[bool]] = mapped_column(ARRAY(Boolean))
    prompt_reasons: Mapped[list[str | None]] = mapped_column(ARRAY(Text))


class MetricChunk(Base):
    """One key's values of steps chunk·100 + 1 .. (chunk + 1)·100; NULL where a step lacks the key."""

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


class SparseRecord(Base):
    """Evaluations, tracking samplings and events: few per run, kept whole."""

    __tablename__ = "sparse_records"
    __table_args__ = (Index("ix_sparse_records_order", "run_id", "type", "step", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), unique=True)
    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    type: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    identity: Mapped[str] = mapped_column(primary_key=True)
    """What a later attempt's record replaces: the data set, the replicate; for an event its place in the journal."""
    attempt: Mapped[int]
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
    """What a prompt says, as the first group of it that was stored with its responses has it."""

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
    """How far a file of an attempt is stored."""

    __tablename__ = "ingest_offsets"

    run_id: Mapped[str] = mapped_column(ForeignKey(RUN_ID, ondelete="CASCADE"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    next_offset: Mapped[int] = mapped_column(BigInteger)
