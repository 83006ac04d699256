"""Accuracies of arms on fresh prompts of training, and whether an unchanged arm did what its parent did."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import Floats, t_quantile
from bapo.analysis.fork.results import ForkCurve, FreshDifference, Repetition
from bapo.analysis.fork.runs import Difference, ForkPoint, ForkRun, mean_difference
from bapo.analysis.result import MeanEstimate
from bapo.analysis.visits import SOURCES, Visits
from bapo.rollout import BatchSource

MOST_POINTS = 400
"""Largest number of points of a curve; if a run has more steps, each point is a mean over several."""


class _Fresh(NamedTuple):
    """The fresh groups of a run in some steps."""

    step: NDArray[np.int64]
    prompt: NDArray[np.int64]
    """Index into `Visits.prompt_ids`."""
    accuracy: Floats


class _PairedSums(NamedTuple):
    """Differences of paired groups, by prompt."""

    sums: Floats
    counts: NDArray[np.int64]


def _fresh(visits: Visits, first: int, last: int) -> _Fresh:
    rows = (visits.source == SOURCES.index(BatchSource.FRESH)) & (visits.step >= first) & (visits.step <= last)
    accuracy = visits.num_correct[rows] / visits.group_size
    return _Fresh(visits.step[rows].astype(np.int64), visits.prompt[rows].astype(np.int64), accuracy)


def fresh_difference(
    baseline: Sequence[ForkRun | None], arm: Sequence[ForkRun | None], points: Sequence[ForkPoint]
) -> FreshDifference:
    """Compare accuracy on fresh prompts, arm minus baseline, over the prompts that both rolled out at the same step.

    A prompt that comes more than once counts as one: with d̂ = ΣS_j / ΣN_j over J prompts, whose N_j pairs differ by S_j
    in sum, the interval is d̂ ± t(0.975, J - 1) · sqrt(J / (J - 1) · Σ(S_j - d̂·N_j)²) / ΣN_j.
    """
    differences = []
    num_pairs = num_groups = 0
    for place, (ours, theirs, point) in enumerate(zip(baseline, arm, points, strict=True)):
        if ours is None or theirs is None:
            continue
        last = min(ours.last_step, theirs.last_step)
        before, after = (_fresh(each.visits, point.step + 1, last) for each in (ours, theirs))
        pairs = _paired_sums(before, after, ours.visits.prompt_ids, theirs.visits.prompt_ids)
        num_groups += len(after.step)
        num_pairs += int(pairs.counts.sum())
        if len(pairs.sums):
            alone = _clustered(pairs)
            differences.append(Difference(place, point.seed, alone.value, alone))
    return FreshDifference(difference=mean_difference(differences), num_pairs=num_pairs, num_groups=num_groups)


def _paired_sums(before: _Fresh, after: _Fresh, ours: Sequence[str], theirs: Sequence[str]) -> _PairedSums:
    places = {prompt: index for index, prompt in enumerate(ours)}
    known = np.array([places.get(prompt, -1) for prompt in theirs], np.int64)
    prompts = known[after.prompt]
    width = len(ours)
    keys, rows, positions = np.intersect1d(
        before.step * width + before.prompt,
        np.where(prompts < 0, -1, after.step * width + prompts),
        return_indices=True,
    )
    differences = after.accuracy[positions] - before.accuracy[rows]
    _, owner = np.unique(keys % max(1, width), return_inverse=True)
    return _PairedSums(np.bincount(owner, differences).astype(np.float64), np.bincount(owner))


def _clustered(pairs: _PairedSums) -> MeanEstimate:
    n, total = len(pairs.sums), int(pairs.counts.sum())
    mean = float(pairs.sums.sum()) / total
    if n == 1:
        return MeanEstimate(value=mean, low=None, high=None, n=1)
    squares = float(((pairs.sums - mean * pairs.counts) ** 2).sum())
    half_width = float(t_quantile(n - 1)) * math.sqrt(n / (n - 1) * squares) / total
    return MeanEstimate(value=mean, low=mean - half_width, high=mean + half_width, n=n)


def fresh_means(run: ForkRun, point: ForkPoint) -> Mapping[int, float]:
    """Return the mean accuracy of the fresh groups, by steps since the fork."""
    fresh = _fresh(run.visits, 0, run.last_step)
    steps, owner = np.unique(fresh.step, return_inverse=True)
    if not len(steps):
        return {}
    means = np.bincount(owner, fresh.accuracy) / np.bincount(owner)
    return dict(zip((steps - point.step).tolist(), means.tolist(), strict=True))


def training_curve(curves: Sequence[Mapping[int, float]]) -> ForkCurve:
    """Return the mean over the checkpoints at each offset, in at most `MOST_POINTS` points."""
    offsets = sorted({offset for each in curves for offset in each})
    means = [fmean(each[offset] for each in curves if offset in each) for offset in offsets]
    together = max(1, -(-len(offsets) // MOST_POINTS))
    blocks = [slice(begin, begin + together) for begin in range(0, len(offsets), together)]
    return ForkCurve(x=[fmean(offsets[each]) for each in blocks], y=[fmean(means[each]) for each in blocks])


def repetition(baseline: Iterable[ForkRun | None], points: Sequence[ForkPoint]) -> Repetition | None:
    """Hold an unchanged arm against what its parents did at the same steps; None where they share no step."""
    num_steps = 0
    differing = []
    for run, point in zip(baseline, points, strict=True):
        if run is None or point.parent is None:
            continue
        ours, theirs = _steps_of(run.visits, point.step), _steps_of(point.parent, point.step)
        common = [
            step
            for step in ours.keys() & theirs.keys()
            if point.unchanged_until is None or step <= point.unchanged_until
        ]
        num_steps += len(common)
        differing += [step for step in common if ours[step] != theirs[step]]
    if not num_steps:
        return None
    return Repetition(
        num_steps=num_steps, num_equal=num_steps - len(differing), first_difference=min(differing, default=None)
    )


def _steps_of(visits: Visits, after: int) -> dict[int, list[tuple[Any, ...]]]:
    """Return every group of each later step: prompt, source, correct responses, version, and use in training."""
    begin = int(np.searchsorted(visits.step, after, side="right"))
    columns = (visits.source, visits.num_correct, visits.policy_version, visits.in_batch)
    prompts = [visits.prompt_ids[index] for index in visits.prompt[begin:].tolist()]
    found: dict[int, list[tuple[Any, ...]]] = {}
    rows = zip(visits.step[begin:].tolist(), prompts, *(each[begin:].tolist() for each in columns), strict=True)
    for step, *row in rows:
        found.setdefault(step, []).append(tuple(row))
    return found
