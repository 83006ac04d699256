"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bapo.analysis.result import CostSpread, MeanEstimate
from bapo.analysis.transition_results import MigrationSummary
from bapo.api.base import Body
from bapo.api.records import Series
from bapo.api.runs import RunStatus

__all__ = ["CostSpread", "MeanEstimate"]

MOST_COMPARED = 50

CompareAxis = Literal["step", "rollouts", "time"]
"""What runs are lined up by: training steps, generated responses (re-evaluations and dropped groups included), or
seconds in training steps, which leave evaluations, waiting and pauses out."""


class RunsSeries(Body):
    """Metrics of several runs."""

    series: dict[str, Series]
    """By run, each with steps of its own."""


class Spent(Body):
    """What a run had taken by some point."""

    step: int
    rollouts: float
    seconds: float
    """In training steps: evaluations, waiting and pauses are left out."""
    compute_hours: float
    """GPU-hours; slot-hours where it trained without a GPU."""
    cost: float | None
    """None where the deployment sets no price."""


class EvaluationResult(Body):
    """A run on one held-out set; intervals are over its problems."""

    dataset: str
    num_samples: int
    """k of avg@k."""
    base: MeanEstimate | None
    """Before the first step."""
    final: MeanEstimate
    final_step: int
    best: MeanEstimate
    """The best of all evaluations, which chance favours: the more there are, the more."""
    best_step: int
    change: MeanEstimate | None
    """Final against base, problem by problem; None where the two had different problems."""
    at_budget: float | None
    """At the common budget, linearly between the evaluations beside it; None without such evaluations."""


class TrackedResult(Body):
    """Moves of the tracked prompts from the base model to the last sampling."""

    step: int
    rates: MigrationSummary
    null: MigrationSummary | None
    """The base model sampled again: what chance alone moves."""


class ReachedAccuracy(Body):
    """What a run had spent at its first evaluation with the accuracy asked for."""

    reached: bool
    accuracy: float | None
    """Of that evaluation; of the best one where none reached it."""
    spent: Spent | None
    """None where it was not reached."""


class ComparedRunInfo(Body):
    """A run of the comparison."""

    id: str
    name: str
    status: RunStatus
    method: str
    seed: int | None
    label: str
    """Of its group."""
    step: int
    num_steps: int
    tags: Sequence[str]
    group: str | None
    duration_seconds: float | None
    """From its start to its end, or to now."""
    total: Spent
    results: Sequence[EvaluationResult]
    tracked: TrackedResult | None
    to_reach: ReachedAccuracy | None
    """None where no accuracy was asked for."""


class GroupEvaluation(Body):
    """A group on one held-out set; intervals are over its runs."""

    dataset: str
    num_samples: int
    base: MeanEstimate | None
    final: MeanEstimate | None
    best: MeanEstimate | None
    change: MeanEstimate | None
    at_budget: MeanEstimate | None
    against_reference: MeanEstimate | None
    """Mean difference to the reference group over the seeds that both have, at the common budget where one is asked
    for, else of the final evaluations; None for the reference itself and where no seed is shared."""


class GroupReached(Body):
    """What the runs of a group had spent to reach the accuracy asked for."""

    num_reached: int
    num_runs: int
    step: CostSpread | None
    """Over the runs that reached it; None where none did."""
    rollouts: CostSpread | None
    seconds: CostSpread | None
    compute_hours: CostSpread | None
    cost: CostSpread | None


class ComparedGroup(Body):
    """Runs that are one thing to compare."""

    label: str
    run_ids: Sequence[str]
    results: Sequence[GroupEvaluation]
    unlocked: MeanEstimate | None
    """Mean over the runs of the unlock rate."""
    unlocked_null: MeanEstimate | None
    strictly_unlocked: MeanEstimate | None
    strictly_unlocked_null: MeanEstimate | None
    lost: MeanEstimate | None
    lost_null: MeanEstimate | None
    rollouts: MeanEstimate
    seconds: MeanEstimate
    compute_hours: MeanEstimate
    cost: MeanEstimate | None
    to_reach: GroupReached | None


class ConfigDifference(Body):
    """A config field on which the runs differ."""

    field: str
    values: Sequence[Any]
    """One per run, in their order."""
    known: Sequence[bool]
    """False where the run's method does not have the field."""


class EqualBudget(Body):
    """Where runs are cut off to be equal."""

    x: CompareAxis
    until: float
    """The least that one of the runs has."""


class Comparison(Body):
    """Runs side by side."""

    runs: Sequence[ComparedRunInfo]
    """In the order asked for."""
    groups: Sequence[ComparedGroup]
    """In the order in which their runs come."""
    grouped_by: str
    reference: str
    """Label of the group that the others are compared with."""
    differences: Sequence[ConfigDifference]
    fields: Sequence[str]
    """Config fields that runs can be grouped by, those first on which they differ."""
    datasets: Sequence[str]
    """Held-out sets, the one with most runs first."""
    dataset: str | None
    """The one that the accuracy to reach is meant on."""
    reach: float | None
    budget: EqualBudget | None
    """None where runs are compared as they are."""
    currency: str


class ComparedCurve(Body):
    """A metric of a run or a group over the common axis."""

    label: str
    run_ids: Sequence[str]
    x: Sequence[float]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    """95 % interval over the runs; empty for a curve of one run."""
    high: Sequence[float | None]
    n: Sequence[int]
    """Runs behind each point; empty for a curve of one run."""
    num_positions: int
    """Before sampling; as many as there are points where nothing was left out."""


class CurveGroup(Body):
    """Runs behind one curve."""

    label: str
    run_ids: Sequence[str]
    names: Sequence[str]
    """Of the runs."""


class ComparedCurves(Body):
    """Metrics of runs or groups, overlaid."""

    x: CompareAxis
    groups: Sequence[CurveGroup]
    """All of them, those too that a metric has no curve of."""
    curves: dict[str, Sequence[ComparedCurve]]
    """By metric."""
    budget: EqualBudget | None
    is_interpolated: bool
    """Whether values stand between measurements: at budgets, and in means of runs that were measured elsewhere."""
