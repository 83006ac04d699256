"""Comparison of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from bapo.analysis.importance_results import Importance
from bapo.analysis.result import AppliedChange, CostSpread, MeanEstimate, Outcome, Savings, SeedDisagreement
from bapo.analysis.transition_results import MigrationSummary
from bapo.api.base import Body
from bapo.api.records import Series
from bapo.api.runs import RunStatus

__all__ = ["CostSpread", "MeanEstimate", "Outcome", "Savings", "SeedDisagreement"]

MOST_COMPARED = 50

CompareAxis = Literal["step", "rollouts", "time"]
"""Axis that aligns runs: training steps, generated responses (re-evaluations and dropped groups included), or
seconds in training steps, which exclude evaluations, waiting and pauses."""


class RunsSeries(Body):
    """Metrics of several runs."""

    series: dict[str, Series]
    """By run; each has its own steps."""


class Spent(Body):
    """Resources used up to some point."""

    step: int
    rollouts: float
    seconds: float
    """Time in training steps, without evaluations, waiting and pauses."""
    compute_hours: float | None
    """GPU-hours; slot-hours for training without a GPU. Null of a run of another trainer."""
    cost: float | None
    """Null if the deployment sets no price, and of a run of another trainer."""


class EvaluationResult(Body):
    """Results of a run on one held-out set, with intervals over its problems."""

    dataset: str
    """Name of the set; with its size where runs have different sets of one name: "CD-34 (50 × 2)"."""
    recorded_as: str
    """Name of the set in the run's records."""
    num_samples: int
    """k of avg@k."""
    num_problems: int
    problems: str
    """Digest of the problems, and after a hyphen of their answers where these are recorded."""
    base: MeanEstimate | None
    """Before the first step."""
    final: MeanEstimate
    final_step: int
    best: MeanEstimate
    """The best of all evaluations: favoured by chance, the more so the more evaluations there are."""
    best_step: int
    change: MeanEstimate | None
    """Final minus base, paired by problem; null if the two had different problems."""
    at_budget: float | None
    """At `evaluated` of the common budget, interpolated linearly; null without evaluations on both sides."""
    evaluated_at_budget: MeanEstimate | None = None
    """The evaluation at exactly that position; null where it lies between two."""


class TrackedResult(Body):
    """Moves of the tracked prompts from the base model to the last sampling."""

    step: int
    rates: MigrationSummary
    null: MigrationSummary | None
    """The base model sampled again: moves by chance alone."""


class ReachedAccuracy(Body):
    """Resources used until the first evaluation with the requested accuracy."""

    reached: bool
    accuracy: float | None
    """Accuracy of that evaluation, or of the best one if none reached it."""
    spent: Spent | None
    """Null if it was not reached."""
    tried: Spent | None = None
    """Resources used in all training steps without reaching it; null if it was reached, or never evaluated."""


class ComparedRunInfo(Body):
    """One run of the comparison."""

    id: str
    name: str
    status: RunStatus
    method: str
    seed: int | None
    label: str
    """Label of its group."""
    step: int
    num_steps: int
    tags: Sequence[str]
    group: str | None
    duration_seconds: float | None
    """From its start to its end, or to now."""
    notes_start: str = ""
    """First characters of the notes."""
    total: Spent
    results: Sequence[EvaluationResult]
    tracked: TrackedResult | None
    to_reach: ReachedAccuracy | None
    """Null if no accuracy was requested."""


class GroupEvaluation(Body):
    """Results of a group on one held-out set, with intervals over its runs."""

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
    disagreement: SeedDisagreement | None = None
    """Present where the seeds of that difference vary more than it is large, so that it is no evidence of an effect."""


class GroupReached(Body):
    """Resources that the runs of a group used to reach the requested accuracy."""

    num_reached: int
    num_runs: int
    step: CostSpread | None
    """Over the runs that reached it; null if none did."""
    rollouts: CostSpread | None
    seconds: CostSpread | None
    compute_hours: CostSpread | None
    cost: CostSpread | None
    saved_hours: Savings | None = None
    """Compute hours saved against the reference group; null for that group itself, and where one of these runs has not
    reached the accuracy or the hours of a run are not known."""
    saved_cost: Savings | None = None
    """The same of the cost."""


class ComparedGroup(Body):
    """A group of runs."""

    label: str
    run_ids: Sequence[str]
    results: Sequence[GroupEvaluation]
    unlocked: MeanEstimate | None
    """Mean unlock rate over the runs."""
    unlocked_null: MeanEstimate | None
    strictly_unlocked: MeanEstimate | None
    strictly_unlocked_null: MeanEstimate | None
    lost: MeanEstimate | None
    lost_null: MeanEstimate | None
    rollouts: MeanEstimate
    seconds: MeanEstimate
    compute_hours: MeanEstimate | None
    """Null if all runs are of other trainers."""
    cost: MeanEstimate | None
    to_reach: GroupReached | None


class ConfigDifference(Body):
    """A config field in which the runs differ."""

    field: str
    values: Sequence[Any]
    """One per run, in order."""
    known: Sequence[bool]
    """False if the run's method does not have the field."""


class EqualBudget(Body):
    """The common budget at which runs are cut off."""

    x: CompareAxis
    until: float
    """The smallest end of any run that has trained."""
    run_id: str | None = None
    """The run that ends there, the first of several; null if no other run is longer."""
    evaluated: Mapping[str, float] = {}
    """By held-out set: the last position up to there at which every run that knows the set was evaluated, and where
    `at_budget` is taken. Runs that share no such position are interpolated at the last evaluation of one of them."""


class Comparison(Body):
    """A comparison of runs."""

    runs: Sequence[ComparedRunInfo]
    """In the requested order."""
    groups: Sequence[ComparedGroup]
    """In the order of their runs."""
    grouped_by: str
    reference: str
    """Label of the reference group."""
    differences: Sequence[ConfigDifference]
    fields: Sequence[str]
    """Config fields to group by, differing ones first."""
    datasets: Sequence[str]
    """Held-out sets, those with most runs first."""
    dataset: str | None
    """The held-out set of the accuracy to reach."""
    held_out_note: str | None = None
    """Sentences on held-out sets of one name that differ in problems, answers or responses per problem, so that they
    are not compared, and on compared sets of which not all of this is recorded. Null without either."""
    reach: float | None
    budget: EqualBudget | None
    """Null if runs are not cut off."""
    currency: str
    outcome: Outcome | None = None
    """Result of the comparison on `dataset`: the best group against the reference, with the evidence; null from older
    servers."""
    outcome_text: str = ""
    """The same as one sentence."""


class VariedRun(Body):
    """A run, what sets it apart, and its result."""

    run_id: str
    name: str
    seed: int | None
    set: dict[str, Any]
    """The fields that vary, without the seed."""
    result: float | None
    """Result of the run; null before the first."""


class ParameterImportance(Body):
    """Importance of config fields for a result of several runs."""

    metric: str
    """Column of the run list."""
    eval_name: str | None
    """The evaluation that the results are of: the one that most runs have; None for other metrics."""
    fields: Sequence[str]
    """That vary."""
    runs: Sequence[VariedRun]
    importance: Importance


class ComparedCurve(Body):
    """A metric of a run or a group over the common axis."""

    label: str
    run_ids: Sequence[str]
    x: Sequence[float]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    """95 % interval over the runs; empty for a single run."""
    high: Sequence[float | None]
    n: Sequence[int]
    """Runs behind each point; empty for a single run."""
    num_positions: int
    """Number of points before sampling."""


class ChangeOnAxis(Body):
    """A parameter change of a run, where it took effect on the common axis."""

    run_id: str
    x: float
    change: AppliedChange


class CurveGroup(Body):
    """The runs behind a curve."""

    label: str
    run_ids: Sequence[str]
    names: Sequence[str]
    """Names of the runs."""
    changes: Sequence[ChangeOnAxis] = ()
    """Up to the end of the curves."""


class ComparedCurves(Body):
    """Curves of runs or groups over a common axis."""

    x: CompareAxis
    groups: Sequence[CurveGroup]
    """All groups, including those without a curve for a metric."""
    curves: dict[str, Sequence[ComparedCurve]]
    """By metric."""
    notes: Mapping[str, str] = Field(default_factory=dict)
    """Sentence on runs left out because they were evaluated on another set of the same name, by metric."""
    budget: EqualBudget | None
    is_interpolated: bool
    """True if values lie between measurements: at budgets, and in means of runs measured at other positions."""
