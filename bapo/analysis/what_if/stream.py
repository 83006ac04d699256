"""The recorded stream of a run, ready for replay."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.visits import SOURCES, Visits
from bapo.analysis.what_if.pass_rates import PassRates
from bapo.rollout import BatchSource
from bapo.thresholds import MeanAccuracy

_FRESH, _REEVALUATED, _REUSED = (
    SOURCES.index(source) for source in (BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED)
)
Counts = NDArray[np.int64]


class RecordedCounts(NamedTuple):
    """Counts of the run's own batches by step, read off its visits."""

    fresh: Counts
    mixed: Counts
    """Fresh groups with a gradient: neither all wrong nor all right."""
    reevaluated: Counts
    x1: Counts
    x2: Counts
    x3: Counts


@dataclass(frozen=True)
class FreshGroups:
    """The fresh groups of the steps 1..n, in the order in which they were rolled out."""

    group_size: int
    step: Counts
    prompt: Counts
    num_correct: Counts
    first: Counts
    """Row of each step's first group, and the end."""

    @property
    def num_steps(self) -> int:
        """Steps, of which some may have no group."""
        return len(self.first) - 1

    @property
    def is_mixed(self) -> NDArray[np.bool_]:
        """Rows of groups with a gradient: neither all wrong nor all right."""
        return (self.num_correct > 0) & (self.num_correct < self.group_size)

    def per_step(self, chosen: NDArray[np.bool_] | None = None) -> Counts:
        """Return the number of groups, or of the chosen ones, in each step."""
        steps = self.step if chosen is None else self.step[chosen]
        return np.bincount(steps, minlength=self.num_steps + 1)[1:]

    def slices(self) -> list[slice]:
        """Return rows of each step."""
        return [slice(begin, end) for begin, end in pairwise(self.first.tolist())]

    def first_of_each_step(self, most: int) -> FreshGroups:
        """Return the groups without those of a step beyond the first `most`."""
        place = np.arange(len(self.step)) - self.first[self.step - 1]
        kept = place < most
        sizes = np.minimum(np.diff(self.first), most)
        return FreshGroups(
            self.group_size,
            self.step[kept],
            self.prompt[kept],
            self.num_correct[kept],
            np.concatenate(([0], np.cumsum(sizes))),
        )

    def answered(self, num_correct: Counts, group_size: int) -> FreshGroups:
        """Return groups of the same prompts with other answers."""
        return FreshGroups(group_size, self.step, self.prompt, num_correct, self.first)

    @cached_property
    def mean_accuracy(self) -> list[Fraction]:
        """r_tot in force in each step, and after the last: a matter of the fresh groups alone."""
        window = MeanAccuracy()
        values = [window.value]
        for rows in self.slices():
            window.add_step(int(self.num_correct[rows].sum()), (rows.stop - rows.start) * self.group_size)
            values.append(window.value)
        return values


class RecordedStream:
    """The steps 1..n of a run. Prompts are numbered by their identifiers' order, which breaks ties as BAPO does."""

    def __init__(self, visits: Visits, round_size: int | None = None) -> None:
        """Take the visits; `round_size` is the number of prompts of a round if steps may have several, else each step
        is one.
        """
        self.round_size = round_size
        self.num_steps = _steps_without_gap(visits.step)
        end = int(np.searchsorted(visits.step, self.num_steps, side="right"))
        order = sorted(range(len(visits.prompt_ids)), key=visits.prompt_ids.__getitem__)
        self.prompt_ids = [visits.prompt_ids[code] for code in order]
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        step, source = visits.step[:end].astype(np.int64), visits.source[:end]
        prompt, num_correct = rank[visits.prompt[:end]], visits.num_correct[:end].astype(np.int64)
        is_fresh = source == _FRESH
        steps = step[is_fresh]
        first: Counts = np.searchsorted(steps, np.arange(1, self.num_steps + 2))
        self.fresh = FreshGroups(visits.group_size, steps, prompt[is_fresh], num_correct[is_fresh], first)
        """The groups that a replay builds batches of: those of the run, unless `with_fresh` puts others there."""
        self.recorded = self._recorded_counts(step, source, visits.in_batch[:end])
        answered = source != _REUSED
        self.evaluations = Evaluations(
            visits.group_size,
            step[answered],
            prompt[answered],
            num_correct[answered],
            source[answered] == _REEVALUATED,
            len(order),
        )
        self.pass_rates = PassRates(
            visits.group_size, self.fresh.num_correct, steps, self.fresh.prompt, self.prompt_ids
        )

    @property
    def group_size(self) -> int:
        """G of the replay."""
        return self.fresh.group_size

    @property
    def num_prompts(self) -> int:
        """Distinct prompts that were seen."""
        return len(self.prompt_ids)

    def with_fresh(self, fresh: FreshGroups) -> RecordedStream:
        """Return the same run with other fresh groups; what it recorded, and what is known of its prompts, stays."""
        other = copy(self)
        other.fresh = fresh
        return other

    def _recorded_counts(self, step: Counts, source: NDArray[np.int8], in_batch: NDArray[np.bool_]) -> RecordedCounts:
        def per_step(chosen: NDArray[np.bool_]) -> Counts:
            return np.bincount(step[chosen], minlength=self.num_steps + 1)[1:]

        return RecordedCounts(
            self.fresh.per_step(),
            self.fresh.per_step(self.fresh.is_mixed),
            per_step(source == _REEVALUATED),
            per_step((source == _FRESH) & in_batch),
            per_step((source == _REEVALUATED) & in_batch),
            per_step((source == _REUSED) & in_batch),
        )


class Evaluations:
    """Every answer of a policy to a prompt, by step."""

    def __init__(
        self,
        group_size: int,
        step: Counts,
        prompt: Counts,
        num_correct: Counts,
        is_repeated: NDArray[np.bool_],
        num_prompts: int,
    ) -> None:
        self.group_size = group_size
        self.step = step
        self.prompt = prompt
        self.num_correct = num_correct
        self.is_repeated = is_repeated
        """Re-evaluations, not fresh groups."""
        later = _neighbours(prompt)
        self.has_later = np.zeros(len(step), np.bool_)
        self.later_row = np.zeros(len(step), np.int64)
        self.has_later[later.earlier] = True
        self.later_row[later.earlier] = later.later
        self.first_row = np.zeros(num_prompts, np.int64)
        """Each prompt's first answer."""
        self.first_row[prompt[::-1]] = np.arange(len(step))[::-1]


def _steps_without_gap(steps: NDArray[np.int32]) -> int:
    """Return the last of the steps 1, 2, … that are all there."""
    present: Sequence[int] = np.unique(steps).tolist()
    return next((index for index, step in enumerate(present) if step != index + 1), len(present))


class _Neighbours(NamedTuple):
    """Rows of one prompt that follow one another."""

    earlier: Counts
    later: Counts


def _neighbours(prompts: Counts) -> _Neighbours:
    order = np.argsort(prompts, kind="stable")
    same = prompts[order[1:]] == prompts[order[:-1]]
    return _Neighbours(order[:-1][same], order[1:][same])
