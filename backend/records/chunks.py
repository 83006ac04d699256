"""Packs the metrics of every hundred complete steps into one array per key.

A chunk is a copy of what the steps' records say: where a later attempt replaces a step, its chunk is dissolved
into rows again, and made anew when it is complete.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import LiteralString

from sqlalchemy import ColumnElement, delete, or_, select, update
from sqlalchemy.orm import Session

from backend.models import MetricChunk, StepRow
from backend.records.repository import array_of, copy
from bapo.records import StepRecord, metrics

CHUNK_STEPS = 100


def chunk_of(step: int) -> int:
    """Number of the chunk that a step belongs to: steps 1..100 are chunk 0."""
    return (step - 1) // CHUNK_STEPS


def first_step(chunk: int) -> int:
    """First step of a chunk."""
    return chunk * CHUNK_STEPS + 1


def last_step(chunk: int) -> int:
    """Last step of a chunk."""
    return (chunk + 1) * CHUNK_STEPS


Metrics = Mapping[str, float]


def completed(
    session: Session, run_id: str, chunks: Collection[int], new: Collection[int]
) -> dict[int, dict[int, Metrics]]:
    """The chunks that the new steps complete, and the metrics of their other steps."""
    found: dict[int, dict[int, Metrics]] = {chunk: {} for chunk in chunks}
    if _lacking(found, new):
        query = select(StepRow.step, StepRow.metrics).where(
            StepRow.run_id == run_id,
            StepRow.metrics.is_not(None),
            or_(*(StepRow.step.between(first_step(chunk), last_step(chunk)) for chunk in _lacking(found, new))),
        )
        for step, metrics in session.execute(query):
            if step not in new:
                found[chunk_of(step)][step] = metrics
    lacking = _lacking(found, new)
    return {chunk: stored for chunk, stored in found.items() if chunk not in lacking}


def _lacking(found: Mapping[int, Collection[int]], new: Collection[int]) -> set[int]:
    counts = Counter(chunk_of(step) for step in new)
    return {chunk for chunk, stored in found.items() if counts[chunk] + len(stored) < CHUNK_STEPS}


def store(session: Session, run_id: str, chunk: int, metrics: Mapping[int, Metrics]) -> None:
    """Turn the metrics of a chunk's steps into one array per key; NULL where a step lacks the key."""
    by_step = [metrics[step] for step in range(first_step(chunk), last_step(chunk) + 1)]
    keys = sorted(set().union(*by_step))
    series = ((run_id, key, chunk, array_of([values.get(key) for values in by_step])) for key in keys)
    copy(session, _COPY_CHUNKS, series)
    session.execute(
        update(StepRow)
        .where(
            StepRow.run_id == run_id,
            StepRow.step.between(first_step(chunk), last_step(chunk)),
            StepRow.metrics.is_not(None),
        )
        .values(metrics=None),
        execution_options={"synchronize_session": False},
    )


_COPY_CHUNKS: LiteralString = "COPY metric_chunks (run_id, key, chunk, series) FROM STDIN"


def dissolve(session: Session, run_id: str, chunks: Collection[int]) -> None:
    """Turn arrays into rows again."""
    if not chunks:
        return
    query = select(MetricChunk.chunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk.in_(chunks)).distinct()
    for chunk in session.scalars(query).all():
        session.execute(delete(MetricChunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk == chunk))
        give_back(session, run_id, chunk)


def give_back(session: Session, run_id: str, chunk: int) -> None:
    """Write the metrics of a chunk's steps into their rows, from the records."""
    write_metrics(session, run_id, StepRow.step.between(first_step(chunk), last_step(chunk)))


def write_metrics(session: Session, run_id: str, *conditions: ColumnElement[bool]) -> None:
    """Write the metrics of some steps into their rows, from the records."""
    rows = session.execute(select(StepRow.step, StepRow.record).where(StepRow.run_id == run_id, *conditions))
    for step, record in rows.all():
        values = metrics(StepRecord.model_validate({**record, "prompts": []}))
        finite = {key: value for key, value in values.items() if math.isfinite(value)}
        session.execute(update(StepRow).where(StepRow.run_id == run_id, StepRow.step == step).values(metrics=finite))
