"""The outcome of a comparison: the best group, what it is held against, and what the evidence allows to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bapo.analysis.result import MeanEstimate, Outcome, OutcomeSide, PairedOver, SeedDisagreement, Standing, Verdict


class Contender(NamedTuple):
    """A group of runs, and what is known of its accuracy."""

    label: str
    accuracy: MeanEstimate | None
    """`None` if none of its runs was evaluated."""
    num_runs: int
    """Runs that were evaluated."""
    against_reference: MeanEstimate | None
    """Mean difference to the reference group over the seeds that both have, or whatever pairs them."""
    disagreement: SeedDisagreement | None
    """Disagreement of the seeds about that difference."""


def outcome(
    dataset: str | None,
    contenders: Sequence[Contender],
    reference: str,
    standing: Standing,
    *,
    paired_over: PairedOver = "seed",
) -> Outcome:
    """Hold the group with the highest accuracy against the reference, or against the second best where it is that.

    The evidence is the paired difference over seeds. Intervals over the problems of single runs tell how well a run was
    measured, and nothing of another seed; a difference over problems can thus show none, but not one of settings.
    """
    sides = {
        each.label: OutcomeSide(label=each.label, accuracy=each.accuracy, num_runs=each.num_runs)
        for each in contenders
        if each.accuracy is not None
    }
    ranked = sorted(sides.values(), key=lambda side: -side.accuracy.value)
    best = next(iter(ranked), None)
    others = [side for side in ranked if side is not best]
    other = next((side for side in others if side.label == reference), next(iter(others), None))
    known = {each.label: each for each in contenders}
    difference, disagreement = None, None
    if best is not None and other is not None and reference in (best.label, other.label):
        # Of either side, only the one that is not the reference has a difference to it.
        versus_reference = known[other.label if best.label == reference else best.label]
        difference, disagreement = versus_reference.against_reference, versus_reference.disagreement
        if best.label == reference:
            difference, disagreement = _negated(difference), _turned(disagreement)
    return Outcome(
        verdict=_verdict(best, other, difference, disagreement, standing, paired_over),
        paired_over=paired_over,
        dataset=dataset,
        best=best,
        other=other,
        difference=difference,
        disagreement=disagreement,
        num_groups=len(sides),
        unevaluated=[each.label for each in contenders if each.accuracy is None],
        **dict(standing),
    )


def _verdict(
    best: OutcomeSide | None,
    other: OutcomeSide | None,
    difference: MeanEstimate | None,
    disagreement: SeedDisagreement | None,
    standing: Standing,
    paired_over: PairedOver,
) -> Verdict:
    if best is None:
        return Verdict.NOT_EVALUATED
    if other is None:
        return Verdict.ALONE
    if standing.position == 0 or (standing.position is None and standing.final_steps == (0, 0)):
        return Verdict.UNTRAINED
    if difference is None or difference.low is None or difference.high is None:
        return _without_interval(best, other, difference)
    if disagreement is not None:
        return Verdict.SEEDS_DISAGREE
    shown = Verdict.ONE_SEED if paired_over == "problem" else Verdict.DIFFERENCE
    return Verdict.NO_DIFFERENCE if difference.low <= 0 <= difference.high else shown


def _without_interval(best: OutcomeSide, other: OutcomeSide, difference: MeanEstimate | None) -> Verdict:
    if difference is not None:
        return Verdict.ONE_SEED if difference.n == 1 else Verdict.NO_SPREAD
    # Of a single run, n is that of the problems; of several runs of one seed, that of the seeds.
    is_single = 1 in (best.num_runs, other.num_runs, best.accuracy.n, other.accuracy.n)
    return Verdict.ONE_SEED if is_single else Verdict.UNPAIRED


def _negated(difference: MeanEstimate | None) -> MeanEstimate | None:
    if difference is None or difference.low is None or difference.high is None:
        return None if difference is None else difference.model_copy(update={"value": -difference.value})
    return MeanEstimate(value=-difference.value, low=-difference.high, high=-difference.low, n=difference.n)


def _turned(disagreement: SeedDisagreement | None) -> SeedDisagreement | None:
    return None if disagreement is None else disagreement.model_copy(update={"mean": -disagreement.mean})
