"""Metrics of every hundred complete steps as one array per key.

A chunk is a copy of what the steps' records say: where a later attempt replaces a step, its chunk is dissolved
into rows again, and made anew when it is complete.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from sqlalchemy import delete, select, text, update
from sqlalchemy.orm import Session

from backend.models import MetricChunk, StepRow
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


_COMPLETE = text("""
    SELECT (step - 1) / :size AS chunk FROM steps
    WHERE run_id = :run_id AND metrics IS NOT NULL AND (step - 1) / :size = ANY(:chunks)
    GROUP BY 1 HAVING count(*) = :size
""")

_COMPACT = text("""
    WITH points AS (
        SELECT steps.step, each.key, each.value::text::float8 AS value
        FROM steps, jsonb_each(steps.metrics) AS each
        WHERE steps.run_id = :run_id AND steps.step BETWEEN :first AND :last
    ), keys AS (
        SELECT key, count(*) AS points, array_agg(value ORDER BY step) AS series, array_agg(step ORDER BY step) AS steps
        FROM points GROUP BY key
    )
    INSERT INTO metric_chunks (run_id, key, chunk, series)
    SELECT :run_id, key, :chunk, CASE points WHEN :size THEN series ELSE (
        SELECT array_agg(series[array_position(steps, step::int)] ORDER BY step)
        FROM generate_series(CAST(:first AS int), CAST(:last AS int)) AS step
    ) END
    FROM keys
""")
"""Each row's metrics are unpacked once; a key that some step lacks is NULL there."""


def compact(session: Session, run_id: str, chunks: Collection[int]) -> None:
    """Turn those of the chunks into arrays that have all their steps."""
    if not chunks:
        return
    parameters = {"run_id": run_id, "size": CHUNK_STEPS, "chunks": sorted(chunks)}
    for chunk in session.scalars(_COMPLETE, parameters).all():
        bounds = {"first": first_step(chunk), "last": last_step(chunk)}
        session.execute(_COMPACT, {"run_id": run_id, "chunk": chunk, "size": CHUNK_STEPS, **bounds})
        session.execute(
            update(StepRow)
            .where(StepRow.run_id == run_id, StepRow.step.between(bounds["first"], bounds["last"]))
            .values(metrics=None)
        )


def dissolve(session: Session, run_id: str, chunks: Collection[int]) -> None:
    """Turn arrays into rows again, from the records."""
    if not chunks:
        return
    query = select(MetricChunk.chunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk.in_(chunks)).distinct()
    for chunk in session.scalars(query).all():
        session.execute(delete(MetricChunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk == chunk))
        rows = session.execute(
            select(StepRow.step, StepRow.record).where(
                StepRow.run_id == run_id, StepRow.step.between(first_step(chunk), last_step(chunk))
            )
        )
        for step, record in rows.all():
            values = metrics(StepRecord.model_validate({**record, "prompts": []}))
            finite = {key: value for key, value in values.items() if math.isfinite(value)}
            session.execute(
                update(StepRow).where(StepRow.run_id == run_id, StepRow.step == step).values(metrics=finite)
            )
