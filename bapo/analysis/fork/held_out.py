"""Accuracies of arms on held-out problems, and their differences problem by problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from bapo.analysis.comparison import estimate
from bapo.analysis.fork.results import ArmRole, ForkCurve
from bapo.analysis.fork.runs import (
    Difference,
    ForkPoint,
    ForkRun,
    Measured,
    mean_difference,
    replicates,
)
from bapo.analysis.outcome import Contender
from bapo.analysis.result import PairedOver
from bapo.analysis.seed_disagreement import seed_disagreement

ByOffset = Mapping[int, Measured]
"""Evaluations of one run by steps since the fork; below 0 its parent's."""


def by_offset(run: ForkRun | None, point: ForkPoint, dataset: str | None) -> ByOffset:
    """Return a run's evaluations on one held-out set."""
    if run is None or dataset is None:
        return {}
    return {step - point.step: each for step, each in run.evaluations.get(dataset, {}).items()}


def last_common(tables: Sequence[Sequence[ByOffset]], roles: Sequence[ArmRole]) -> int | None:
    """Return the last offset at which the baseline and another arm were both evaluated from one checkpoint; without
    such a pair, the last of any.
    """
    others = [table for table, role in zip(tables, roles, strict=True) if role == "arm"] or tables[1:]
    common = (
        offset
        for other in others
        for ours, theirs in zip(tables[0], other, strict=True)
        for offset in ours.keys() & theirs.keys()
    )
    either = (offset for table in tables for of_run in table for offset in of_run)
    return max((at for at in common if at > 0), default=max((at for at in either if at > 0), default=None))


def complete_places(tables: Sequence[Sequence[ByOffset]], offset: int | None) -> Collection[int]:
    """Return the checkpoints at which no arm lacks an evaluation that it has at another; all, if there is none such.

    Means over different checkpoints could not be distinguished from those of different settings.
    """
    each = [{place for place, found in enumerate(table) if offset in found} for table in tables]
    common = set.intersection(*(places for places in each if places)) if any(each) else set()
    return common or range(len(tables[0]))


def differences_of(
    baseline: Sequence[ByOffset], arm: Sequence[ByOffset], points: Sequence[ForkPoint]
) -> dict[int, list[Difference]]:
    """Return differences by steps since the fork, one for each checkpoint of which both were evaluated there."""
    found: dict[int, list[Difference]] = {}
    for place, (ours, theirs, point) in enumerate(zip(baseline, arm, points, strict=True)):
        for offset in sorted(ours.keys() & theirs.keys()):
            before, after = ours[offset].accuracies, theirs[offset].accuracies
            alone = estimate([after[problem] - before[problem] for problem in before if problem in after])
            if offset > 0 and alone is not None:
                found.setdefault(offset, []).append(Difference(place, point.seed, alone.value, alone))
    return found


def contender(
    label: str, measured: Sequence[tuple[int | None, Measured]], differences: Sequence[Difference], unit: PairedOver
) -> Contender:
    """Return an arm as a side of the outcome, from its evaluations, with the seed of each, and its differences."""
    if not measured:
        return Contender(label, None, 0, None, None)
    if unit == "problem":
        return Contender(label, measured[0][1].mean, 1, mean_difference(differences), None)
    values = replicates([(each.seed, each.value) for each in differences], unit)
    accuracy = estimate(replicates([(seed, each.mean.value) for seed, each in measured], unit))
    return Contender(label, accuracy, len(measured), estimate(values), seed_disagreement(values))


def accuracy_curve(tables: Sequence[ByOffset]) -> ForkCurve:
    """Return the mean over the checkpoints at each offset."""
    offsets = sorted({offset for table in tables for offset in table})
    return ForkCurve(x=offsets, y=[fmean(table[at].mean.value for table in tables if at in table) for at in offsets])


def until_fork(table: ByOffset) -> ByOffset:
    """Return what a run has of its parent, the checkpoint included."""
    return {offset: each for offset, each in table.items() if offset <= 0}


def since_fork(table: ByOffset) -> ByOffset:
    """Return what is the run's own, and the checkpoint, where it begins."""
    return {offset: each for offset, each in table.items() if offset >= 0}


def difference_curve(differences: Mapping[int, Sequence[Difference]]) -> ForkCurve:
    """Return the paired difference at each offset, with its interval; 0 at the checkpoint, where arms are one run."""
    found = [(offset, mean) for offset, each in sorted(differences.items()) if (mean := mean_difference(each))]
    if not found:
        return ForkCurve(x=[], y=[])
    return ForkCurve(
        x=[0, *(offset for offset, _ in found)],
        y=[0.0, *(each.value for _, each in found)],
        low=[0.0, *(each.low for _, each in found)],
        high=[0.0, *(each.high for _, each in found)],
    )
