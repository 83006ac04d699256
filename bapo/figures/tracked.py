"""The tracked prompts of replicates: which samplings they share, and how their prompts moved, put together."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.analysis.accuracy_transitions import Matrix, tracked_matrix, with_rates
from bapo.analysis.transition_results import MigrationMatrix
from bapo.figures.recorded import RecordedRun
from bapo.records import TrackingRecord

MOST_SAMPLINGS = 8
"""Steps shown side by side."""


def sampling(run: RecordedRun, step: int, replicate: int = 0) -> TrackingRecord | None:
    """Return a run's sampling of the tracked prompts at a step; replicate 1 is the base model's second."""
    return next((each for each in run.tracking if each.step == step and each.replicate == replicate), None)


def common_steps(runs: Sequence[RecordedRun], most: int = MOST_SAMPLINGS) -> list[int]:
    """Return steps at which all runs sampled their prompts: the first, the last, and evenly spaced ones between."""
    if not runs:
        return []
    shared = set.intersection(
        *({record.step for record in run.tracking if record.replicate == 0 and record.num_correct} for run in runs)
    )
    steps = sorted(shared)
    if len(steps) <= most:
        return steps
    return [steps[round(index * (len(steps) - 1) / (most - 1))] for index in range(most)]


def moved(run: RecordedRun, step: int) -> Matrix | None:
    """Return a run's prompts at step 0 against a later step; None where one of the samplings is missing."""
    before, after = sampling(run, 0), sampling(run, step)
    return tracked_matrix(before, after) if before is not None and after is not None else None


def moved_by_chance(run: RecordedRun) -> Matrix | None:
    """Return the base model against itself; None where it was not sampled twice."""
    before, after = sampling(run, 0), sampling(run, 0, 1)
    return tracked_matrix(before, after) if before is not None and after is not None else None


def pooled(matrices: Sequence[Matrix | None]) -> MigrationMatrix | None:
    """Return prompts of several runs counted together; None where there are none, or their groups differ in size."""
    known = [matrix for matrix in matrices if matrix is not None]
    if not known or len({matrix.shape for matrix in known}) > 1:
        return None
    total: Matrix = sum(known[1:], start=known[0])
    return with_rates(total)
