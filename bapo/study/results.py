"""A study's planned runs and its report: what `bapo.study` computes, as the API, the tables and the figures read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from bapo.analysis.result import CostSpread, MeanEstimate, Result
from bapo.study.declaration import Budget, Metric

StudyStage = Literal["tuning", "final"]
StudyRunState = Literal["done", "training", "waiting", "stopped", "failed", "missing"]
"""missing: not made yet, or deleted."""


class StudyArm(Result):
    """An arm as it is declared."""

    name: str
    method: str
    set: dict[str, Any]


class StudyPower(Result):
    """The smallest difference that the primary comparison of a study can show."""

    num_seeds: int
    deviation: float
    """Standard deviation over seeds of the paired difference, as a share: 0.0125 is 1.25 points."""
    deviation_low: float
    deviation_high: float
    """95 % interval; of the shipped studies, the least and the most of their comparisons."""
    source: Literal["project", "shipped", "given"]
    """Source of the deviation: earlier runs of the project, the shipped studies, or the caller."""
    source_text: str
    detectable: float | None
    """True difference, as a share, that 80 % of repetitions would show at 5 %, two-sided; None with one seed."""
    detectable_low: float | None
    detectable_high: float | None
    """The same at the ends of the deviation."""
    more_seeds: Mapping[int, float] = {}
    """Seeds → the difference that so many would show."""
    text: str
    """Sentence such as "5 seeds show 2.1 points"."""


class StudyRunInfo(Result):
    """A planned run and what became of it."""

    name: str
    stage: StudyStage
    regime: str
    arm: str
    seed: int
    set: dict[str, Any]
    """Fields of a point of the tuning grid."""
    state: StudyRunState
    reason: str | None
    """Why it failed or was stopped."""
    step: int
    num_steps: int | None
    run_id: str | None
    """On a server."""
    folder: str | None = None
    """Without a server, within the study's folder."""


class StudyScore(Result):
    """An arm on one test set, or on the mean of all."""

    test_set: str
    num_samples: int | None
    """k of avg@k; None for the mean of sets with different k."""
    avg: MeanEstimate | None
    """avg@k of the last evaluation; intervals are over seeds."""
    pass_at: MeanEstimate | None
    """pass@k, of the same k."""
    greedy: MeanEstimate | None
    is_best: bool
    """Highest avg@k, and the interval of the paired difference to every other arm excludes 0."""


class StudyRow(Result):
    """An arm in the table of results."""

    arm: str
    method: str
    num_done: int
    """Runs that the row is taken over."""
    num_seeds: int
    """Runs that were declared."""
    scores: Sequence[StudyScore]
    """Each test set, then their mean where there are several."""
    rollouts: MeanEstimate | None


class StudyDifference(Result):
    """An arm against another, seed by seed."""

    arm: str
    against: str
    metric: Metric
    test_set: str
    at: Budget
    budget: CostSpread | None
    """Budgets at which the seeds' pairs were compared; None for `steps`."""
    difference: MeanEstimate | None
    """Mean over the common seeds of arm minus against; None where there is none."""
    effect_size: float | None
    """Mean difference over its standard deviation (Cohen's d of paired data); None with fewer than two seeds."""
    seeds: Sequence[int]
    missing_seeds: Sequence[int]
    """Declared, without a result of both arms."""
    verdict: Literal["higher", "lower", "open", "unknown"]
    """higher, lower: the interval excludes 0; open: it does not; unknown: there is none."""


class StudyCurve(Result):
    """The mean accuracy of an arm over what it has spent."""

    arm: str
    n: int
    x: Sequence[float]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]


class StudyUnlocks(Result):
    """Moves of an arm's tracked prompts from the base model to the last sampling, compared with those of chance."""

    arm: str
    n: int
    step: int
    unlocked: MeanEstimate | None
    """Share of the prompts at 0/G that are above it at the end."""
    unlocked_null: MeanEstimate | None
    """The base model sampled again: what chance alone gives."""
    strictly_unlocked: MeanEstimate | None
    """Share of the prompts at 0/G that are at 1/2 or more at the end."""
    strictly_unlocked_null: MeanEstimate | None
    lost: MeanEstimate | None
    """Share of the prompts above 0/G that are now at 0/G."""
    lost_null: MeanEstimate | None
    unlocked_above_null: MeanEstimate | None
    """Unlocked minus its null, run by run."""
    strictly_unlocked_above_null: MeanEstimate | None


class StudyComposition(Result):
    """Batch composition of an arm; means over steps, then over runs."""

    arm: str
    n: int
    fresh: MeanEstimate | None
    """Groups rolled out per step."""
    x1: MeanEstimate | None
    x2: MeanEstimate | None
    x3: MeanEstimate | None
    fill: MeanEstimate | None
    """Groups trained on as a share of B."""
    share_x1: MeanEstimate | None
    """Share of the groups trained on."""
    share_x2: MeanEstimate | None
    share_x3: MeanEstimate | None
    hit_rate: MeanEstimate | None
    """Share of the re-evaluated prompts that improved; None if none was re-evaluated."""
    fresh_hit_rate: MeanEstimate | None
    """Share of the fresh groups that became X1; None for a method without a filter, which trains on all of them."""


class StudyCost(Result):
    """Cost of an arm's whole runs, evaluation and tracking left out."""

    arm: str
    n: int
    rollouts: MeanEstimate | None
    tokens: MeanEstimate | None
    cpu_seconds: MeanEstimate | None
    wall_seconds: MeanEstimate | None
    """Depends on what else the machine did."""
    method_share: MeanEstimate | None
    """Time of the method's own code as a share of the steps'."""
    num_reached: int
    """Runs that reached the reference arm's mean final accuracy."""
    rollouts_to_reach: CostSpread | None
    """Over these runs; None where none did, and for the reference itself."""
    compute_to_reach: CostSpread | None
    """CPU-seconds."""


class StudyMatrix(Result):
    """Tracked prompts by accuracy before training (row) and at a step (column), runs counted together."""

    step: int
    counts: Sequence[Sequence[int]]
    improved: MeanEstimate | None
    """Share of prompts with more correct responses, run by run."""
    worse: MeanEstimate | None
    """Share with fewer: the lower triangle."""
    solved_kept: MeanEstimate | None
    """Share of the prompts at G/G that are still at (G - 1)/G or more."""


class StudyStability(Result):
    """Migration and the quantities of Theorem 3.2."""

    arm: str
    n: int
    null: StudyMatrix | None
    """The base model sampled again."""
    matrices: Sequence[StudyMatrix]
    """At every step at which all runs sampled."""
    tv: Mapping[str, MeanEstimate]
    """½·mean|ρ - 1| over tokens by source: distance of π_θ to the source's behaviour policy before the update."""
    tv_max: Mapping[str, MeanEstimate]
    """Largest of a run."""
    clip_fraction: MeanEstimate | None
    ratio_max: MeanEstimate | None
    grad_norm: MeanEstimate | None
    grad_norm_max: MeanEstimate | None
    k1: float | None
    """Constants of Theorem 3.2 at r_tot = 0; None for methods without thresholds."""
    k2: float | None
    k2_exact: float | None
    k3: float | None


class StudyRegimeReport(Result):
    """All results of one regime."""

    name: str
    title: str
    base: Sequence[StudyScore]
    """The model before training."""
    rows: Sequence[StudyRow]
    differences: Sequence[StudyDifference]
    """Every arm against the reference, at equal steps, rollouts and compute, on the primary metric and set."""
    curves: Mapping[Budget, Sequence[StudyCurve]]
    """Mean avg@k over the test sets."""
    unlocks: Sequence[StudyUnlocks]
    composition: Sequence[StudyComposition]
    cost: Sequence[StudyCost]
    stability: Sequence[StudyStability]
    num_comparisons: int
    """Number of comparisons of arms with the reference, at equal steps, rollouts and compute."""
    num_apart: int
    """Number of these comparisons whose interval excludes 0."""


class StudyTuningPoint(Result):
    """A candidate setting of an arm and how it did on validation problems."""

    regime: str
    arm: str
    set: dict[str, Any]
    accuracy: MeanEstimate | None
    """Mean avg@k over the validation sets, over the tuning seeds."""
    chosen: bool


class StudyAmendment(Result):
    """A change of the declaration after the first run."""

    at: datetime
    reason: str
    digest_before: str
    changed: Sequence[str]
    """Fields of the file."""
    num_done: int
    """Runs that had ended by then."""
    num_set_aside: int
    """Runs that the new declaration no longer has, or has otherwise; their figures are not in the report."""


class StudyReport(Result):
    """The report of a study: findings, runs that were made and runs that were not."""

    title: str
    question: str
    expectation: str
    digest: str
    version: str
    """Version of the product."""
    machine: str | None
    recipe: str | None
    seeds: Sequence[int]
    test_sets: Sequence[str]
    arms: Sequence[StudyArm]
    reference: str
    primary: StudyDifference
    primary_regime: str
    primary_words: str
    is_complete: bool
    """Every declared run is done."""
    runs: Sequence[StudyRunInfo]
    amendments: Sequence[StudyAmendment]
    tuning: Sequence[StudyTuningPoint]
    regimes: Sequence[StudyRegimeReport]
    held_out_note: str | None = None
    """Sentences on test sets of one name that differ between runs, and on what is left out; None if all are known to be
    the same."""
