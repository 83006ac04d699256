"""Held-out sets of recorded runs, named apart where runs have different ones of one name."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.analysis.held_out_sets import NamedSets, named_sets, newest_of_run, set_of
from bapo.figures.recorded import RecordedRun


def with_named_sets(runs: Sequence[RecordedRun]) -> tuple[list[RecordedRun], NamedSets]:
    """Name the sets of all evaluations so that figures, which go by the name, compare like with like.

    Of a set that a run changed on its way, the newest evaluations stay.
    """
    known = [newest_of_run((set_of(record), record.step) for record in run.evaluations) for run in runs]
    sets = named_sets(each for of_run in known for each in of_run.values())
    found = []
    for run, of_run in zip(runs, known, strict=True):
        evaluations = [
            record
            if sets.labels[of_run[record.dataset]] == record.dataset
            else record.model_copy(update={"dataset": sets.labels[of_run[record.dataset]]})
            for record in run.evaluations
            if set_of(record).equals(of_run[record.dataset])
        ]
        found.append(run._replace(evaluations=evaluations))
    return found, sets
