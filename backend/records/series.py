"""Columns of metrics, put together from chunks, the newest steps and the evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from backend.records import repository
from backend.records.chunks import CHUNK_STEPS, chunk_of, first_step
from backend.records.repository import StepRange
from backend.records.sampling import extreme_rows

NOT_SAMPLED = "no"


@dataclass(frozen=True)
class Columns:
    """`columns[key][i]` belongs to `steps[i]`."""

    steps: list[int]
    columns: dict[str, list[float | None]]
    sampled: str = NOT_SAMPLED
    """Whether, and how, steps were left out."""


def read(session: Session, run_id: str, keys: Sequence[str], steps: StepRange) -> Columns:
    """All values of these keys in a range of steps; a step that has none of them is left out."""
    rows: dict[int, dict[str, float | None]] = {}
    for chunk in repository.metric_chunks(session, run_id, keys, chunk_of(steps.first), chunk_of(steps.last)):
        begin = first_step(chunk.chunk)
        low, high = max(steps.first - begin, 0), min(steps.last - begin + 1, CHUNK_STEPS)
        for step, value in enumerate(chunk.series[low:high], start=begin + low):
            if value is not None:
                rows.setdefault(step, {})[chunk.key] = value
    for step, values in repository.metric_tail(session, run_id, keys, steps):
        found = {key: value for key, value in zip(keys, values, strict=True) if value is not None}
        if found:
            rows.setdefault(step, {}).update(found)
    for step, metrics in repository.sparse_metrics(session, run_id, keys, steps):
        rows.setdefault(step, {}).update({key: metrics[key] for key in keys if key in metrics})
    ordered = sorted(rows)
    return Columns(ordered, {key: [rows[step].get(key) for step in ordered] for key in keys})


def sample(columns: Columns, max_points: int) -> Columns:
    """At most about `max_points` steps, with each column's extremes."""
    num_rows = len(columns.steps)
    if num_rows <= max_points:
        return columns
    kept = extreme_rows(list(columns.columns.values()), num_rows, max_points)
    return Columns(
        [columns.steps[row] for row in kept],
        {key: [values[row] for row in kept] for key, values in columns.columns.items()},
        f"min-max; {len(kept)} of {num_rows} steps",
    )
