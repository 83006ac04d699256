"""Reads columns of metrics of several runs as arrays, and finds those over one held-out set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.readings.compare import repository
from backend.readings.compare.repository import EvaluationRow
from backend.records import metrics
from backend.records.chunks import first_step
from backend.records.repository import StepRange
from backend.records.series import Columns
from bapo.analysis.held_out_sets import named_sets, newest_of_run
from bapo.analysis.number_format import counted

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]

_SPARSE = ("val-core/", "bapo/tracking/")
"""Prefixes of metrics that evaluations and trackings record, and steps do not (`bapo.records.metrics`)."""

EVERY_STEP = StepRange(0, 2**31 - 1)


class Column(NamedTuple):
    """One key of a run: its values at the steps that have it, by step."""

    steps: Steps
    values: Floats


NOTHING = Column(np.empty(0, np.int64), np.empty(0))

RunColumns = Mapping[str, Column]
"""By key; a key that the run has not recorded is there and empty."""


def read(
    session: Session, run_ids: Sequence[str], keys: Sequence[str], steps: StepRange = EVERY_STEP
) -> dict[str, dict[str, Column]]:
    """Return all values of these keys in a range of steps, by run and key, in three statements for all runs."""
    parts: dict[tuple[str, str], list[Column]] = {}
    in_steps = [key for key in keys if not key.startswith(_SPARSE)]
    in_between = [key for key in keys if key.startswith(_SPARSE)]
    for chunk in metrics.metric_chunks(session, run_ids, in_steps, steps) if in_steps else ():
        begin = first_step(chunk.chunk)
        low = max(steps.first - begin, 0)
        values = chunk.series[low : steps.last - begin + 1]
        numbers = np.arange(begin + low, begin + low + len(values))
        parts.setdefault((chunk.run_id, chunk.key), []).append(Column(numbers, values))
    for tail in metrics.metric_tails(session, run_ids, in_steps, steps) if in_steps else ():
        parts.setdefault((tail.run_id, tail.key), []).append(Column(tail.steps, tail.values))
    sparse: dict[tuple[str, str], dict[int, float]] = {}
    for run_id, step, recorded in metrics.sparse_metrics(session, run_ids, in_between, steps) if in_between else ():
        for key in in_between:
            if key in recorded:
                sparse.setdefault((run_id, key), {})[step] = recorded[key]
    for place, found in sparse.items():
        parts.setdefault(place, []).append(Column(np.array(list(found), np.int64), np.array(list(found.values()))))
    return {run_id: {key: _joined(parts.get((run_id, key), [])) for key in keys} for run_id in run_ids}


def _joined(parts: Sequence[Column]) -> Column:
    if not parts:
        return NOTHING
    numbers = np.concatenate([part.steps for part in parts])
    values = np.concatenate([part.values for part in parts])
    known = ~np.isnan(values)
    if not known.all():
        numbers, values = numbers[known], values[known]
    if len(numbers) > 1 and (np.diff(numbers) <= 0).any():
        order = np.argsort(numbers, kind="stable")
        numbers, values = numbers[order], values[order]
    return Column(numbers, values)


def table(columns: RunColumns) -> Columns:
    """Return the columns of a run over the steps that have any of them."""
    steps = np.unique(np.concatenate([column.steps for column in columns.values()])) if columns else NOTHING.steps
    spread: dict[str, Floats] = {}
    for key, column in columns.items():
        if len(column.steps) == len(steps):
            spread[key] = column.values
        else:
            spread[key] = np.full(len(steps), np.nan)
            spread[key][np.searchsorted(steps, column.steps)] = column.values
    return Columns(steps, spread)


_KEY = re.compile(r"val-core/(?P<dataset>.+)/acc/.+")


def of_one_set(
    session: Session, columns: Mapping[str, Mapping[str, Column]], keys: Sequence[str]
) -> tuple[dict[str, dict[str, Column]], dict[str, str]]:
    """Return the columns with values of one set per key, that of most runs; and by key what is left out.

    Of a set that a run changed on its way, the newest counts.
    """
    whole = {run_id: dict(of_run) for run_id, of_run in columns.items()}
    datasets = {key: match["dataset"] for key in keys if (match := _KEY.fullmatch(key)) is not None}
    notes: dict[str, str] = {}
    if not datasets:
        return whole, notes
    rows: dict[str, list[EvaluationRow]] = {run_id: [] for run_id in whole}
    for row in repository.evaluations(session, list(whole)):
        rows[row.run_id].append(row)
    newest = {run_id: newest_of_run((row.held_out, row.step) for row in of_run) for run_id, of_run in rows.items()}
    for key, dataset in datasets.items():
        known = {
            run_id: newest[run_id][dataset]
            for run_id, of_run in whole.items()
            if dataset in newest[run_id] and len(of_run[key].steps)
        }
        if not known:
            continue
        sets = named_sets(known.values())
        labels = {run_id: sets.labels[each] for run_id, each in known.items()}
        drawn = Counter(labels.values()).most_common(1)[0][0]
        for run_id, each in known.items():
            steps = [row.step for row in rows[run_id] if row.held_out.equals(each)]
            whole[run_id][key] = _at(whole[run_id][key], steps) if labels[run_id] == drawn else NOTHING
        others = sum(label != drawn for label in labels.values())
        if others:
            notes[key] = (
                f"{sets.difference(drawn)} Drawn: {drawn}; left out: {counted(others, 'run')} evaluated on another set."
            )
    return whole, notes


def _at(column: Column, steps: Sequence[int]) -> Column:
    is_kept = np.isin(column.steps, steps)
    return column if is_kept.all() else Column(column.steps[is_kept], column.values[is_kept])
