"""The base of what analyses return, the figures that most of them have, and the changes of a run under way.

These types need no NumPy: the API serves them and the command line reads them without loading what computes them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from bapo.config.descriptions import describe_properties


class Result(BaseModel):
    """Common base: JSON-ready, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_properties)


class Bounded(Result):
    """A figure with the bounds of its 95 % interval.

    Bounds that meet are none: values without any spread say nothing about how far the next one would lie.
    """

    value: float
    low: float | None
    """`None` where no interval can be given."""
    high: float | None

    @model_validator(mode="after")
    def _drop_point(self) -> Self:
        if self.low is not None and self.high is not None and math.isclose(self.low, self.high, abs_tol=1e-12):
            self.low = self.high = None
        return self


class MeanEstimate(Bounded):
    """A figure with its 95 % interval over replicates or problems."""

    n: int
    """Replicates, seeds or problems that it is taken over."""


class CostSpread(Result):
    """Median and range over runs."""

    median: float
    low: float
    high: float


class Savings(Bounded):
    """Savings of runs against a baseline until they reached an accuracy, as a share of the baseline's expense.

    The interval is the bootstrap's; there is none where a side has one seed only, a baseline run spent nothing, or the
    value is the least.
    """

    value: float
    """0.36: 36 % less than the baseline; below 0, they spent more."""
    spent: float
    """Mean over the seeds."""
    baseline: float
    """Mean over the baseline's seeds."""
    n: int
    """Seeds; runs of an unknown seed count as one each."""
    num_baseline: int
    """Seeds of the baseline."""
    is_least: bool
    """True if baseline runs have not reached the accuracy, so that at least this much was saved."""


class SeedDisagreement(Result):
    """Differences by seed that vary more than they are large, with an interval that includes 0."""

    mean: float
    """Mean difference over the seeds."""
    deviation: float
    """Standard deviation over the seeds."""
    n: int
    """Seeds."""
    num_opposed: int
    """Seeds whose difference has the other sign than the mean."""
    seeds_needed: int | None
    """With as many, a difference of this size would be shown in four of five repetitions; None: more than 1,000."""


class Verdict(StrEnum):
    """Verdict of a comparison, by its evidence."""

    NOT_EVALUATED = "not_evaluated"
    """No run was evaluated."""
    UNTRAINED = "untrained"
    """In every run only the base model was evaluated."""
    ALONE = "alone"
    """Only one group was evaluated."""
    ONE_SEED = "one_seed"
    """At most one pair of runs has a seed in common, and a side has one run only: no interval over seeds. Of a fork
    experiment with one checkpoint: its two policies differ, which may be the setting's doing or chance."""
    NO_SPREAD = "no_spread"
    """Every seed has the same paired difference, so that no interval can be given."""
    UNPAIRED = "unpaired"
    """Several runs on both sides, of which none have a seed in common."""
    SEEDS_DISAGREE = "seeds_disagree"
    """The paired differences vary more than they are large, and their interval includes 0."""
    NO_DIFFERENCE = "no_difference"
    """The 95 % interval of the paired difference includes 0."""
    DIFFERENCE = "difference"
    """The 95 % interval of the paired difference excludes 0."""


class OutcomeSide(Result):
    """A group of runs and its accuracy on a held-out set."""

    label: str
    accuracy: MeanEstimate
    """Interval over the runs; of a single run over the problems, and without one between two evaluations."""
    num_runs: int
    """Runs that were evaluated."""


class LeftOutRun(Result):
    """A run that a comparison leaves out."""

    run_id: str
    name: str
    reason: Literal["never_evaluated", "untrained", "too_short"]
    """`untrained`: only its base model was evaluated; `too_short`: last evaluated before half of the others' steps."""
    status: str
    step: int
    """Last completed step."""
    last_evaluated: int | None
    """Step of its last evaluation on the held-out set; `None` without one."""


class Standing(Result):
    """Point at which the accuracies of a comparison were taken."""

    is_running: bool
    """True if a run may still change it."""
    axis: Literal["step", "rollouts", "time"]
    position: float | None
    """Position on that axis at which the accuracies are taken; None for each run's last evaluation."""
    is_cut: bool
    """True if a run was evaluated beyond that position."""
    num_steps: int | None
    """Length of the runs; None where they differ in it."""
    final_steps: tuple[int, int] | None
    """First and last of the steps of the last evaluations; None without an evaluation."""
    is_interpolated: bool = False
    """True if a run was evaluated before and after that position, but not there."""
    left_out: Sequence[LeftOutRun] = ()
    """Runs that cannot be compared with the others."""


PairedOver = Literal["seed", "checkpoint", "problem"]
"""Unit over which a paired difference is a mean."""


class Outcome(Standing):
    """The outcome of a comparison: the group with the highest accuracy, and the one that it is held against."""

    verdict: Verdict
    paired_over: PairedOver = "seed"
    """Only a fork experiment, whose arms begin as one run, has another than seeds."""
    dataset: str | None
    """Held-out set; None if no run was evaluated."""
    best: OutcomeSide | None
    other: OutcomeSide | None
    """The reference group; where that is the best itself, or was not evaluated, the second best."""
    difference: MeanEstimate | None
    """Best minus other over the seeds that both have, or over what `paired_over` says; no interval with one seed."""
    disagreement: SeedDisagreement | None
    """Present where the seeds disagree; of the same difference."""
    num_groups: int
    """Groups that were evaluated: chance favours the best of many."""
    unevaluated: Sequence[str]
    """Labels of groups that were not evaluated."""
    other_sets: str | None = None
    """Sentence on other sets of that name, which are not compared; `None` if no run was evaluated on one."""


class AppliedChange(Result):
    """New values that the trainer of a running run took over."""

    step: int
    """First step with them."""
    set: Mapping[str, Any]
    """By dotted field."""
    author: str
