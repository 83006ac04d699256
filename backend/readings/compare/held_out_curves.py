"""Leaves out of curves over held-out accuracy what was measured on another set than the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy.orm import Session

from backend.readings.compare import repository
from backend.readings.compare.repository import EvaluationRow
from backend.readings.compare.series import NOTHING, Column
from bapo.analysis.held_out_sets import named_sets, newest_of_run
from bapo.analysis.number_format import counted

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
