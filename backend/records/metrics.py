"""SQL of metrics, one statement for any number of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Text, cast, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from backend.models import MetricChunk, SparseRecord
from backend.records.chunks import FLOAT_ELEMENT, chunk_of
from backend.records.repository import StepRange

_HEAD_BYTES = 20
"""Header of a one-dimensional array on the wire, in bytes: dimensions, has NULLs, type, length, lower bound."""
_NULL = -1


class ChunkRow(NamedTuple):
    """One key's values of a hundred steps of a run; NaN where a step lacks the key."""

    run_id: str
    key: str
    chunk: int
    series: NDArray[np.float64]


def metric_chunks(session: Session, run_ids: Sequence[str], keys: Sequence[str], steps: StepRange) -> list[ChunkRow]:
    """Return the chunks that hold these steps."""
    # As bytes: reading numbers one by one takes longer than the query.
    query = (
        select(MetricChunk.run_id, MetricChunk.key, MetricChunk.chunk, func.array_send(MetricChunk.series))
        .where(
            MetricChunk.run_id.in_(run_ids),
            MetricChunk.key.in_(keys),
            MetricChunk.chunk.between(chunk_of(steps.first), chunk_of(steps.last)),
        )
        .order_by(MetricChunk.run_id, MetricChunk.key, MetricChunk.chunk)
    )
    return [ChunkRow(run_id, key, chunk, floats(sent)) for run_id, key, chunk, sent in session.execute(query)]


def floats(sent: bytes) -> NDArray[np.float64]:
    """Return a `float8[]` of one dimension as PostgreSQL sends it in binary; NULL becomes NaN."""
    num_elements = int.from_bytes(sent[12:16], "big") if len(sent) >= _HEAD_BYTES else 0
    if len(sent) == _HEAD_BYTES + num_elements * FLOAT_ELEMENT.itemsize:
        return np.frombuffer(sent, FLOAT_ELEMENT, offset=_HEAD_BYTES)["value"].astype(np.float64)
    values, place = np.full(num_elements, np.nan), _HEAD_BYTES
    for index in range(num_elements):
        length = int.from_bytes(sent[place : place + 4], "big", signed=True)
        place += 4
        if length != _NULL:
            values[index] = np.frombuffer(sent, ">f8", count=1, offset=place)[0]
            place += length
    return values


class TailRow(NamedTuple):
    """One key's values of the steps that are not in a chunk."""

    run_id: str
    key: str
    steps: NDArray[np.int64]
    values: NDArray[np.float64]


_TAIL = text("""
    -- The inner query takes the value out of its row, which is large, before anything is sorted.
    SELECT run_id, key, array_send(array_agg(step::float8 ORDER BY step)), array_send(array_agg(value ORDER BY step))
    FROM (
        SELECT run_id, step, key, (metrics ->> key)::float8 AS value
        FROM metric_tails, unnest(CAST(:keys AS text[])) AS wanted(key)
        WHERE run_id = ANY(:run_ids) AND step BETWEEN :first AND :last
        OFFSET 0
    ) AS tail
    GROUP BY run_id, key
""")


def metric_tails(session: Session, run_ids: Sequence[str], keys: Sequence[str], steps: StepRange) -> list[TailRow]:
    """Return the newest steps of each run, and those next to a gap."""
    parameters = {"run_ids": list(run_ids), "keys": list(keys), "first": steps.first, "last": steps.last}
    return [
        TailRow(run_id, key, floats(numbers).astype(np.int64), floats(values))
        for run_id, key, numbers, values in session.execute(_TAIL, parameters)
    ]


def sparse_metrics(
    session: Session, run_ids: Sequence[str], keys: Sequence[str], steps: StepRange
) -> list[tuple[str, int, dict[str, float]]]:
    """Run, step and metrics of the evaluations and trackings that have one of the keys."""
    query = select(SparseRecord.run_id, SparseRecord.step, SparseRecord.metrics).where(
        SparseRecord.run_id.in_(run_ids),
        SparseRecord.type.in_(("evaluation", "tracking")),
        SparseRecord.step.between(steps.first, steps.last),
        SparseRecord.metrics.op("?|")(cast(list(keys), ARRAY(Text))),
    )
    return [(run_id, step, values) for run_id, step, values in session.execute(query)]
