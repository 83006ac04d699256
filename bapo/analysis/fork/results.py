"""Results of a fork experiment: its arms, their differences to the baseline, and the coverage of the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bapo.analysis.number_format import counted
from bapo.analysis.result import MeanEstimate, Outcome, Result

ArmRole = Literal["baseline", "arm", "noise"]
"""Role of an arm: the baseline of all comparisons; a setting on trial; or the baseline with another seed, which shows
the effect of random draws alone.
"""


class ForkCurve(Result):
    """A figure over the steps since the fork: 0 is the checkpoint, what is before it is the common history."""

    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    """Bounds of the 95 % interval; empty where none is drawn."""
    high: Sequence[float | None] = ()


class FreshDifference(Result):
    """Accuracy on fresh prompts of training, an arm minus the baseline, on the prompts that both had at one step."""

    difference: MeanEstimate | None
    """`None` if no prompt came at the same step in both."""
    num_pairs: int
    """Groups of both that are of one prompt and one step."""
    num_groups: int
    """Fresh groups of the arm in these steps, paired or not."""


class ForkArm(Result):
    """A setting that was tried from the checkpoints."""

    number: int
    """From 0, in the order of the plan."""
    label: str
    set: Mapping[str, Any]
    """Changed fields; empty for the unchanged arm."""
    role: ArmRole
    num_steps: int
    """Steps since the fork that all its runs have done."""
    accuracy: MeanEstimate | None
    """On the held-out set, where the experiment is read off: over the problems for one checkpoint, else over these."""
    against_baseline: MeanEstimate | None
    """The same minus the baseline's, paired; None for the baseline, and before both were evaluated there."""
    fresh: FreshDifference | None
    """`None` for the baseline."""
    evaluations: ForkCurve
    """Accuracy on the held-out set."""
    differences: ForkCurve
    """Held-out accuracy minus the baseline's, paired, with its interval."""
    training: ForkCurve
    """Accuracy on fresh prompts."""


class Repetition(Result):
    """Comparison of the unchanged arm with its parents at the same steps: prompt for prompt, answer for answer."""

    num_steps: int
    """Steps that both have recorded, over all checkpoints."""
    num_equal: int
    first_difference: int | None
    """First step that is not the same; None where all are."""


class ForkExperiment(Result):
    """The arms of a fork experiment, side by side from the fork on."""

    datasets: Sequence[str]
    dataset: str | None
    """Held-out set that this is about; None before any evaluation."""
    further_steps: int
    """Steps that every arm trains after the fork."""
    fork_step: int | None
    """Step of the checkpoint; None where they are of different steps."""
    num_checkpoints: int
    read_at: int | None
    """Steps since the fork at which the accuracies are compared; None before that."""
    history: Sequence[ForkCurve]
    """Held-out accuracy up to the fork, a curve for each checkpoint."""
    training_history: Sequence[ForkCurve]
    arms: Sequence[ForkArm]
    outcome: Outcome
    text: str
    """The outcome in sentences."""
    covers: str
    """Coverage of the intervals, and its limits."""
    repetition: Repetition | None
    """`None` without an unchanged arm, or where no parent trained on beyond its checkpoint."""


def repetition_text(found: ForkExperiment) -> str | None:
    """Say whether the unchanged arm repeated its parents' steps; None without anything to compare it with."""
    repeated = found.repetition
    if repeated is None:
        return None
    if repeated.first_difference is None:
        return f"Check: the unchanged arm repeats its parent in all {counted(repeated.num_steps, 'common step')}."
    return (
        f"Check: the unchanged arm repeats its parent in {repeated.num_equal:,} of "
        f"{counted(repeated.num_steps, 'common step')}, and differs from step {repeated.first_difference:,}. Other "
        "machines and versions round otherwise, and vLLM's batches depend on timing: differences between arms have "
        "that in them too."
    )
