"""Assembles columns of metrics from chunks, the newest steps and evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.records import metrics
from backend.records.chunks import CHUNK_STEPS, first_step
from backend.records.curves import Smoothing, Values, extreme_rows, smoothed
from backend.records.repository import StepRange

NOT_SAMPLED = "no"
CHANGE = "change:"
"""Before a key: its difference to the step before, and to 0 in the first step."""

_ALWAYS = "training/global_step"
"""A key that every training step has."""


@dataclass(frozen=True)
class Columns:
    """`values[key][i]` belongs to `steps[i]`; NaN where there is none."""

    steps: NDArray[np.int64]
    values: dict[str, Values]
    sampled: str = NOT_SAMPLED
    """Method by which steps were left out, if any."""


@dataclass(frozen=True)
class Group:
    """The columns of one chart, sampled for themselves."""

    columns: Columns
    smoothed: dict[str, Values]


def read(session: Session, run_id: str, keys: Sequence[str], steps: StepRange) -> Columns:
    """Return all values of these keys in a range of steps; a step that has none of them is left out."""
    columns = read_training(session, run_id, keys, steps)
    sparse = [(step, values) for _, step, values in metrics.sparse_metrics(session, [run_id], keys, steps)]
    if sparse:
        columns = _joined(columns, keys, sparse)
    known = np.zeros(len(columns.steps), dtype=bool)
    for values in columns.values.values():
        known |= ~np.isnan(values)
    return _rows(columns, known) if not known.all() else columns


def read_training(session: Session, run_id: str, keys: Sequence[str], steps: StepRange) -> Columns:
    """Return the values of these keys in every training step of a range, evaluations left out."""
    wanted = [*dict.fromkeys([_ALWAYS, *(key.removeprefix(CHANGE) for key in keys)])]
    has_changes = any(key.startswith(CHANGE) for key in keys)
    first = max(1, steps.first - has_changes)
    place = {key: row for row, key in enumerate(wanted)}
    whole = StepRange(first, steps.last)
    chunks = metrics.metric_chunks(session, [run_id], wanted, whole)
    tails = metrics.metric_tails(session, [run_id], wanted, whole)
    numbers = sorted({chunk.chunk for chunk in chunks})
    begin = {number: index * CHUNK_STEPS for index, number in enumerate(numbers)}
    length = len(numbers) * CHUNK_STEPS
    # Each key's tail has all of its steps.
    newest = tails[0].steps if tails else np.empty(0, np.int64)
    table = np.full((len(wanted), length + len(newest)), np.nan)
    for chunk in chunks:
        table[place[chunk.key], begin[chunk.chunk] : begin[chunk.chunk] + CHUNK_STEPS] = chunk.series
    for tail in tails:
        table[place[tail.key], length:] = tail.values
    found = [np.arange(CHUNK_STEPS) + first_step(number) for number in numbers]
    stored = np.concatenate([*found, newest])
    # Steps that wait for their chunk to be complete may be earlier ones than those of later chunks.
    order = np.argsort(stored, kind="stable")
    order = order[(stored[order] >= first) & (stored[order] <= steps.last)]
    stored, table = stored[order], table[:, order]
    columns = {}
    for key in keys:
        values = table[place[key.removeprefix(CHANGE)]]
        columns[key] = _changes(stored, values) if key.startswith(CHANGE) else values
    within = stored >= steps.first
    return Columns(stored[within], {key: values[within] for key, values in columns.items()})


def _changes(steps: NDArray[np.int64], values: Values) -> Values:
    before = np.concatenate([[0.0 if len(steps) and steps[0] == 1 else np.nan], values[:-1]])[: len(values)]
    # A step is missing before this one: nothing is known about what it added.
    before[1:][np.diff(steps) != 1] = np.nan
    changes: Values = values - before
    return changes


def _joined(columns: Columns, keys: Sequence[str], sparse: Sequence[tuple[int, dict[str, float]]]) -> Columns:
    steps = np.union1d(columns.steps, [step for step, _ in sparse])
    at = np.searchsorted(steps, columns.steps)
    joined = {key: np.full(len(steps), np.nan) for key in keys}
    for key in keys:
        joined[key][at] = columns.values[key]
    for step, recorded in sparse:
        row = int(np.searchsorted(steps, step))
        for key in keys:
            if key in recorded:
                joined[key][row] = recorded[key]
    return Columns(steps, joined)


def sample(columns: Columns, max_points: int) -> Columns:
    """Return about `max_points` steps at most, with each column's extremes."""
    num_rows = len(columns.steps)
    if num_rows <= max_points:
        return columns
    kept = extreme_rows(list(columns.values.values()), num_rows, max_points)
    return _rows(columns, kept, f"min-max; {len(kept)} of {num_rows} steps")


def _rows(columns: Columns, kept: NDArray[np.intp] | NDArray[np.bool_], sampled: str = NOT_SAMPLED) -> Columns:
    return Columns(columns.steps[kept], {key: values[kept] for key, values in columns.values.items()}, sampled)


def read_groups(
    session: Session,
    run_id: str,
    groups: Sequence[Sequence[str]],
    along: Sequence[str],
    steps: StepRange,
    *,
    max_points: int | None,
    smoothing: Smoothing | None,
) -> list[Group]:
    """Return the training steps of each group's keys, from one reading.

    The keys of `along` come with every group and take no part in choosing its steps: an axis has no peaks.
    """
    keys = list(dict.fromkeys([*along, *(key for group in groups for key in group)]))
    reach = smoothing.reach if smoothing is not None else 0
    columns = read_training(session, run_id, keys, StepRange(max(1, steps.first - reach), steps.last))
    means: dict[str, Values] = {}
    if smoothing is not None and keys:
        table = smoothed(np.stack([columns.values[key] for key in keys]), smoothing)
        means = dict(zip(keys, table, strict=True))
    within = columns.steps >= steps.first
    num_rows = int(within.sum())
    answer = []
    for group in groups:
        rows = np.flatnonzero(within)
        sampled = NOT_SAMPLED
        if max_points is not None and num_rows > max_points:
            rows = rows[extreme_rows([columns.values[key][within] for key in group], num_rows, max_points)]
            sampled = f"min-max; {len(rows)} of {num_rows} steps"
        picked = {key: columns.values[key][rows] for key in dict.fromkeys([*group, *along])}
        answer.append(
            Group(
                Columns(columns.steps[rows], picked, sampled),
                {key: means[key][rows] for key in group if key in means},
            )
        )
    return answer
