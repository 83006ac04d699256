"""Counts how prompts move between accuracies: matrices, unlock and loss rates with their chance levels, flows.

Everything starts from two or more samplings of the same prompts as aligned arrays of numbers of correct responses,
`NOT_SEEN` where a prompt has none. They come from tracking records, for which the same prompts are sampled again and
again apart from training (`aligned`), or from training itself, as each prompt's last evaluation up to a step
(`last_evaluated`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.transition_results import MigrationMatrix, MigrationRate, MigrationSummary
from bapo.analysis.visits import Visits
from bapo.evaluation import wilson_interval
from bapo.records import TrackingRecord

NOT_SEEN = -1

Counts = NDArray[np.int16]
"""Correct responses of each prompt, 0..G or NOT_SEEN."""
Matrix = NDArray[np.int64]
"""`[G + 2, G + 2]` numbers of prompts, rows before and columns after; the last row and column are the prompts that one
sampling has not seen."""


class Sampling(NamedTuple):
    """Some prompts' numbers of correct responses."""

    prompt_ids: Sequence[str]
    num_correct: Sequence[int]


class AccuracyClass(NamedTuple):
    """Accuracies that flows do not tell apart."""

    name: str
    lowest: int
    """Smallest number of correct responses; NOT_SEEN for the prompts without an evaluation."""
    highest: int


class Flow(NamedTuple):
    """Prompts that went through the same classes."""

    classes: tuple[int, ...]
    """Index of the class at each sampling."""
    num_prompts: int


def last_evaluated(visits: Visits, step: int) -> Counts:
    """Return each prompt's latest evaluation in steps 1..`step`, by its index in `visits.prompt_ids`.

    A reused group is no evaluation: it was answered at an earlier step.
    """
    end = int(np.searchsorted(visits.step, step, side="right"))
    evaluated = np.flatnonzero(visits.is_evaluation[:end])
    counts = np.full(len(visits.prompt_ids), NOT_SEEN, dtype=np.int16)
    # Of several values for one index, the last one is kept; visits are in the order of their steps.
    counts[visits.prompt[evaluated]] = visits.num_correct[evaluated]
    return counts


def aligned(samplings: Sequence[Sampling]) -> list[Counts]:
    """Return the samplings over all prompts that any of them has, in the order in which those are first named."""
    first = samplings[0]
    if all(sampling.prompt_ids == first.prompt_ids for sampling in samplings):
        return [np.array(sampling.num_correct, dtype=np.int16) for sampling in samplings]
    index: dict[str, int] = {}
    for sampling in samplings:
        for prompt_id in sampling.prompt_ids:
            index.setdefault(prompt_id, len(index))
    spread = []
    for sampling in samplings:
        counts = np.full(len(index), NOT_SEEN, dtype=np.int16)
        counts[[index[prompt_id] for prompt_id in sampling.prompt_ids]] = sampling.num_correct
        spread.append(counts)
    return spread


def migration_matrix(before: Counts, after: Counts, group_size: int) -> Matrix:
    """Return the numbers of prompts by accuracy before (row) and after (column) (arXiv:2602.20722, Fig. 15)."""
    size = group_size + 2
    # Index -1 of the matrix is its last row or column.
    cells = (before.astype(np.int64) % size) * size + after % size
    return np.bincount(cells, minlength=size * size).reshape(size, size)


def seen_in_both(matrix: Matrix) -> Matrix:
    """Return the matrix without the prompts that one of the samplings has not seen, `[G + 1, G + 1]`."""
    return matrix[:-1, :-1]


def migration_rates(matrix: Matrix) -> MigrationSummary:
    """Return the rates of a matrix, over the prompts that both samplings have seen, with Wilson's intervals.

    The intervals say how a rate would vary over other prompts. Sampling an unchanged policy twice moves prompts too:
    compare each rate with that of two such samplings.
    """
    seen = seen_in_both(matrix)
    half = len(seen) // 2  # The smallest k with 2k ≥ G.
    unsolved = int(seen[0].sum())
    return MigrationSummary(
        unlocked=_rate(int(seen[0, 1:].sum()), unsolved),
        strictly_unlocked=_rate(int(seen[0, half:].sum()), unsolved),
        lost=_rate(int(seen[1:, 0].sum()), int(seen[1:].sum())),
    )


def with_rates(matrix: Matrix) -> MigrationMatrix:
    """Return the matrix with its sums and rates, as the API and the figures have it."""
    return MigrationMatrix(
        counts=matrix.tolist(),
        before=matrix.sum(axis=1).tolist(),
        after=matrix.sum(axis=0).tolist(),
        num_prompts=int(seen_in_both(matrix).sum()),
        rates=migration_rates(matrix),
    )


def tracked_matrix(before: TrackingRecord, after: TrackingRecord) -> Matrix:
    """Return the matrix between two samplings of the tracked prompts."""
    first, second = aligned([Sampling(record.prompt_ids, record.num_correct) for record in (before, after)])
    return migration_matrix(first, second, before.group_size)


def _rate(num_moved: int, num_prompts: int) -> MigrationRate | None:
    if not num_prompts:
        return None
    found = wilson_interval(num_moved / num_prompts, num_prompts)
    return MigrationRate(
        value=found.value, low=found.low, high=found.high, num_moved=num_moved, num_prompts=num_prompts
    )


def accuracy_classes(group_size: int) -> tuple[AccuracyClass, ...]:
    """Return 0/G, the thirds between the ends that this G has accuracies in, G/G, and not seen; in this order.

    Low is an accuracy up to 1/3, high from 2/3; an exact third belongs to the outer class.
    """
    low, high = group_size // 3, -(-2 * group_size // 3)
    classes = (
        AccuracyClass("unsolved", 0, 0),
        AccuracyClass("low", 1, low),
        AccuracyClass("middle", low + 1, high - 1),
        AccuracyClass("high", max(high, low + 1), group_size - 1),
        AccuracyClass("solved", group_size, group_size),
        AccuracyClass("not_seen", NOT_SEEN, NOT_SEEN),
    )
    return tuple(each for each in classes if each.lowest <= each.highest)


def flows(samplings: Sequence[Counts], group_size: int) -> list[Flow]:
    """Count the prompts that went through the same classes, most first; leave out prompts that no sampling has seen."""
    classes = accuracy_classes(group_size)
    # By number of correct responses; index -1 is not seen.
    class_of = np.empty(group_size + 2, dtype=np.int64)
    for number, each in enumerate(classes):
        class_of[np.arange(each.lowest, each.highest + 1)] = number
    codes = np.zeros(len(samplings[0]), dtype=np.int64)
    for counts in samplings:
        codes = codes * len(classes) + class_of[counts]
    found, numbers = np.unique(codes, return_counts=True)
    never = len(classes) ** len(samplings) - 1
    all_flows = [
        Flow(_digits(int(code), len(classes), len(samplings)), int(number))
        for code, number in zip(found, numbers, strict=True)
        if code != never
    ]
    return sorted(all_flows, key=lambda flow: (-flow.num_prompts, flow.classes))


def _digits(code: int, base: int, length: int) -> tuple[int, ...]:
    return tuple(code // base**power % base for power in range(length - 1, -1, -1))
