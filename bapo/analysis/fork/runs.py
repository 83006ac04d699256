"""Arms of a fork experiment, their runs, and differences between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from bapo.analysis.comparison import estimate
from bapo.analysis.result import MeanEstimate, PairedOver
from bapo.analysis.visits import Visits


class Measured(NamedTuple):
    """An evaluation on a held-out set."""

    accuracies: Mapping[str, float]
    """By problem."""
    mean: MeanEstimate
    """Over the problems."""


class ForkRun(NamedTuple):
    """Recorded data of a fork, including its parent's part."""

    evaluations: Mapping[str, Mapping[int, Measured]]
    """By held-out set and step."""
    visits: Visits
    last_step: int


class ForkPoint(NamedTuple):
    """A checkpoint from which every arm has a run."""

    step: int
    seed: int | None
    """Seed of the parent."""
    parent: Visits | None = None
    """Visits of the parent, if it still exists; used for an unchanged arm only."""
    unchanged_until: int | None = None
    """Last step of the parent before its parameters were changed; None if they were not changed after the checkpoint.
    """


class Arm(NamedTuple):
    """A setting and its runs."""

    set: Mapping[str, Any]
    runs: Sequence[ForkRun | None]
    """One per checkpoint; None where it is deleted, or has not been submitted."""


class Difference(NamedTuple):
    """An arm minus the baseline at one checkpoint."""

    place: int
    """Position of the checkpoint in the plan."""
    seed: int | None
    value: float
    alone: MeanEstimate
    """With its interval over problems or prompts."""


def unit_of(differences: Iterable[Difference]) -> PairedOver:
    """Return what differences of one or several arms are a mean over: seeds, checkpoints, or one pair's problems."""
    found = list(differences)
    seeds = {each.seed for each in found}
    if len(seeds) > 1 and None not in seeds:
        return "seed"
    return "checkpoint" if len({each.place for each in found}) > 1 else "problem"


def replicates(values: Iterable[tuple[int | None, float]], unit: PairedOver) -> list[float]:
    """Return the values of checkpoints, which are given with their seeds; where seeds count, the mean of each seed."""
    if unit != "seed":
        return [value for _, value in values]
    by_seed: dict[int | None, list[float]] = {}
    for seed, value in values:
        by_seed.setdefault(seed, []).append(value)
    return [fmean(each) for each in by_seed.values()]


def mean_difference(differences: Sequence[Difference]) -> MeanEstimate | None:
    """Return the mean with its interval: over problems or prompts for a single checkpoint, else over what repeats."""
    if len(differences) == 1:
        return differences[0].alone
    return estimate(replicates([(each.seed, each.value) for each in differences], unit_of(differences)))
