"""Prepares the steps of a replay: thresholds, X1 and stored groups, which no re-evaluation changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.what_if.stream import Counts, RecordedStream
from bapo.config import RunConfig
from bapo.draws import generator
from bapo.filters import kept_places
from bapo.methods.bapo import BapoConfig, bapo_config
from bapo.thresholds import CountLimits, count_limits

Entries = dict[int, int]
"""A buffer: prompt → entry, in the order of storing. An entry is a number, ordered by step, then prompt."""


class Phase(NamedTuple):
    """A config, and the step from which it holds."""

    first_step: int
    config: RunConfig


class Numbering(NamedTuple):
    """An entry is (step·prompts + prompt)·(G + 1) + right responses."""

    per_prompt: int
    per_step: int

    def prompts(self, entries: Counts) -> Counts:
        """Return prompts of some entries."""
        return entries % self.per_step // self.per_prompt

    def entries(self, steps: Counts | int, prompts: Counts, num_correct: Counts) -> Counts:
        """Return entries of some groups."""
        return steps * self.per_step + prompts * self.per_prompt + num_correct


@dataclass(slots=True)
class PlannedStep:
    """One step without its re-evaluations."""

    number: int
    is_new_phase: bool
    limits: CountLimits
    num_reevaluated_at_most: int
    """0 where nothing is re-evaluated in this step."""
    reuses: bool
    x1_prompts: Set[int]
    entering: Entries
    """Difficult fresh prompts, in the order of their groups."""
    leaving: Sequence[tuple[int, int]]
    """Fresh prompts whose last fresh group was difficult, for only these may be in the buffer; and how many of today's
    difficult ones come before each."""
    stored: Entries
    """Fresh groups that enter the high-quality buffer."""


def numbering(stream: RecordedStream) -> Numbering:
    """Return the numbering of entries for a replay of this stream."""
    per_prompt = stream.group_size + 1
    return Numbering(per_prompt, stream.num_prompts * per_prompt)


def plan(stream: RecordedStream, phases: Sequence[Phase]) -> Iterator[PlannedStep]:
    """Prepare all steps. The phases are in order, the first one from step 1."""
    methods = _methods(stream.num_steps, phases)
    limits = _limits(stream, methods)
    first_steps = {phase.first_step for phase in phases[1:]}
    training = phases[0].config.training
    method_of_step = [method for method, places in methods for _ in places]
    kept = _kept_rows(stream, method_of_step, training.seed)
    rows = _Rows(stream, limits)
    entering, stored = rows.of(rows.is_difficult), rows.of(rows.is_reusable)
    leaving = rows.leaving()
    prompts = stream.fresh.prompt.tolist()
    for index, method in enumerate(method_of_step):
        number = index + 1
        reevaluates = "reevaluated" not in method.without and number % method.m == 0
        yield PlannedStep(
            number=number,
            is_new_phase=number in first_steps,
            limits=limits[index],
            num_reevaluated_at_most=method.max_reevaluated_prompts if reevaluates else 0,
            reuses="reused" not in method.without,
            x1_prompts={prompts[row] for row in kept[index][: training.batch_size]},
            entering=dict(zip(*entering.step(index), strict=True)),
            leaving=list(zip(*leaving.step(index), strict=True)),
            stored=dict(zip(*stored.step(index), strict=True)),
        )


def _methods(num_steps: int, phases: Sequence[Phase]) -> list[tuple[BapoConfig, range]]:
    """Return each phase's method, and the places of its steps."""
    ends = [phase.first_step for phase in phases[1:]] + [num_steps + 1]
    return [
        (bapo_config(phase.config), range(phase.first_step - 1, min(end, num_steps + 1) - 1))
        for phase, end in zip(phases, ends, strict=True)
    ]


def _limits(stream: RecordedStream, methods: Sequence[tuple[BapoConfig, range]]) -> list[CountLimits]:
    return [
        limits
        for method, places in methods
        for limits in count_limits(
            stream.fresh.mean_accuracy[places.start : places.stop],
            c1=method.c1,
            c2=method.c2,
            c3=method.c3,
            group_size=stream.group_size,
        )
    ]


def _kept_rows(stream: RecordedStream, methods: Sequence[BapoConfig], seed: int) -> list[Sequence[int]]:
    """Return the fresh rows that the online filter lets into X1, by step."""
    if all(method.filter.type == "range" for method in methods):
        # As `kept_places` does it, for all steps at once.
        mixed = np.flatnonzero(stream.fresh.is_mixed)
        bounds, rows = np.searchsorted(mixed, stream.fresh.first).tolist(), mixed.tolist()
        return [rows[begin:end] for begin, end in pairwise(bounds)]
    counts_of_rows = stream.fresh.num_correct.tolist()
    kept: list[Sequence[int]] = []
    for index, (method, (begin, end)) in enumerate(zip(methods, pairwise(stream.fresh.first.tolist()), strict=True)):
        draw = generator(seed, index + 1, "filter")
        places = kept_places(method.filter, counts_of_rows[begin:end], stream.group_size, draw)
        kept.append([begin + place for place in places])
    return kept


class _ByStep:
    """Two numbers of some fresh rows, as lists by step."""

    def __init__(self, rows: Counts, first_of_step: Counts, left: Counts, right: Counts) -> None:
        self._left, self._right = left[rows].tolist(), right[rows].tolist()
        self._first = np.searchsorted(rows, first_of_step).tolist()

    def step(self, index: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return the numbers of one step."""
        begin, end = self._first[index], self._first[index + 1]
        return self._left[begin:end], self._right[begin:end]


class _Rows:
    """Every fresh group, with what the limits of its step make of it."""

    def __init__(self, stream: RecordedStream, limits_of_steps: Sequence[CountLimits]) -> None:
        limits = np.array(limits_of_steps, np.int64).reshape(-1, 3)[stream.fresh.step - 1]
        counts = stream.fresh.num_correct
        self._stream = stream
        self._entries = numbering(stream).entries(stream.fresh.step, stream.fresh.prompt, counts)
        self.is_difficult = counts <= limits[:, 0]
        self.is_reusable = (limits[:, 1] <= counts) & (counts <= limits[:, 2])

    def of(self, chosen: NDArray[np.bool_]) -> _ByStep:
        """Return prompts and entries of some rows."""
        stream = self._stream
        return _ByStep(np.flatnonzero(chosen), stream.fresh.first, stream.fresh.prompt, self._entries)

    def leaving(self) -> _ByStep:
        """Return prompts whose last fresh group was difficult, and the number of difficult ones before it."""
        stream = self._stream
        earlier = stream.fresh.earlier_row
        may_be_held = (earlier >= 0) & self.is_difficult[earlier]
        num_before = np.concatenate(([0], np.cumsum(self.is_difficult)))
        num_before_in_step = num_before[:-1] - num_before[stream.fresh.first[stream.fresh.step - 1]]
        return _ByStep(np.flatnonzero(may_be_held), stream.fresh.first, stream.fresh.prompt, num_before_in_step)
