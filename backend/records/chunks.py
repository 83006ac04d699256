"""Packs the metrics of every hundred complete steps into one array per key.

A chunk is a copy of what the steps' records say: where a later attempt replaces a step, its chunk is dissolved
into rows again, and made again when it is complete.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import LiteralString

import numpy as np
from sqlalchemy import ColumnElement, delete, or_, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.models import MetricChunk, MetricTail, StepRow
from backend.records.repository import copy, int4
from bapo.records import StepRecord, metrics

CHUNK_STEPS = 100


def chunk_of(step: int) -> int:
    """Return the number of the chunk that a step belongs to: steps 1..100 are chunk 0."""
    return (step - 1) // CHUNK_STEPS


def first_step(chunk: int) -> int:
    """Return the first step of a chunk."""
    return chunk * CHUNK_STEPS + 1


def last_step(chunk: int) -> int:
    """Return the last step of a chunk."""
    return (chunk + 1) * CHUNK_STEPS


Metrics = Mapping[str, float]


def completed(
    session: Session, run_id: str, chunks: Collection[int], new: Collection[int]
) -> dict[int, dict[int, Metrics]]:
    """Return the chunks that the new steps complete, and the metrics of their other steps."""
    found: dict[int, dict[int, Metrics]] = {chunk: {} for chunk in chunks}
    if _lacking(found, new):
        query = select(MetricTail.step, MetricTail.metrics).where(
            MetricTail.run_id == run_id,
            or_(*(MetricTail.step.between(first_step(chunk), last_step(chunk)) for chunk in _lacking(found, new))),
        )
        for step, metrics in session.execute(query):
            if step not in new:
                found[chunk_of(step)][step] = metrics
    lacking = _lacking(found, new)
    return {chunk: stored for chunk, stored in found.items() if chunk not in lacking}


def _lacking(found: Mapping[int, Collection[int]], new: Collection[int]) -> set[int]:
    counts = Counter(chunk_of(step) for step in new)
    return {chunk for chunk, stored in found.items() if counts[chunk] + len(stored) < CHUNK_STEPS}


def store(session: Session, run_id: str, chunks: Mapping[int, Mapping[int, Metrics]]) -> None:
    """Turn the metrics of chunks' steps into one array per key; NaN where a step lacks the key."""
    run = run_id.encode()
    rows = (
        (run, key.encode(), int4(chunk), series)
        for chunk, metrics in chunks.items()
        for key, series in _series([metrics[step] for step in range(first_step(chunk), last_step(chunk) + 1)])
    )
    copy(session, _COPY_CHUNKS, rows)
    steps = [step for metrics in chunks.values() for step in metrics]
    session.execute(_DELETE_TAILS, {"run_id": run_id, "steps": steps})


def _series(by_step: Sequence[Metrics]) -> Iterator[tuple[str, bytes]]:
    """Yield each key of a chunk, and its values as PostgreSQL receives them."""
    nothing = dict.fromkeys(chain.from_iterable(by_step), math.nan)
    rows = [list({**nothing, **values}.values()) for values in by_step]
    table = np.empty((len(nothing), CHUNK_STEPS), FLOAT_ELEMENT)
    table["length"] = FLOAT_ELEMENT["value"].itemsize
    # What float() leaves alone: every value is one.
    table["value"] = np.array(rows).T
    return ((key, _ARRAY_HEAD + each.tobytes()) for key, each in zip(nothing, table, strict=True))


_DELETE_TAILS = text("DELETE FROM metric_tails WHERE run_id = :run_id AND step = ANY(CAST(:steps AS integer[]))")
_COPY_CHUNKS: LiteralString = "COPY metric_chunks (run_id, key, chunk, series) FROM STDIN (FORMAT BINARY)"
FLOAT_ELEMENT = np.dtype([("length", ">i4"), ("value", ">f8")])
"""An element of a `float8[]` on the wire."""
_FLOAT8_OID = 701
# One dimension, no NULL, the type, the length, the lower bound.
_ARRAY_HEAD = struct.pack(">iiIii", 1, 0, _FLOAT8_OID, CHUNK_STEPS, 1)


def dissolve(session: Session, run_id: str, chunks: Collection[int]) -> None:
    """Turn arrays into rows of their steps again."""
    if not chunks:
        return
    query = select(MetricChunk.chunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk.in_(chunks)).distinct()
    for chunk in session.scalars(query).all():
        session.execute(delete(MetricChunk).where(MetricChunk.run_id == run_id, MetricChunk.chunk == chunk))
        give_back(session, run_id, chunk)


def give_back(session: Session, run_id: str, chunk: int) -> None:
    """Write the metrics of a chunk's steps into rows of their own, from the records."""
    write_metrics(session, run_id, StepRow.step.between(first_step(chunk), last_step(chunk)))


def write_metrics(session: Session, run_id: str, *conditions: ColumnElement[bool]) -> None:
    """Write the metrics of some steps into rows of their own, from the records."""
    rows = session.execute(select(StepRow.step, StepRow.record).where(StepRow.run_id == run_id, *conditions))
    values = (
        {
            "run_id": run_id,
            "step": step,
            "metrics": metrics(StepRecord.model_validate({**record, "prompts": []})),
        }
        for step, record in rows.all()
    )
    if found := list(values):
        session.connection().execute(insert(MetricTail).on_conflict_do_nothing(), found)
