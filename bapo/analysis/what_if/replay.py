"""Batch construction over a whole recorded stream at once: counts instead of groups, several replicates side by side.

What `bapo.methods` does step by step, with the same thresholds, filters and order, for the sizes of batches and buffers
only: which stored groups X3 takes changes no size and is not drawn. r_tot, X1 and what fresh groups do to the
high-quality buffer do not depend on re-evaluations and are computed once for all replicates. That both agree at every
step, for every legal config and stream, is tested in `tests/bapo/analysis/test_replay.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bapo.analysis.what_if.answers import ReevaluationModel, answered_again
from bapo.analysis.what_if.groups import Groups, Mask, Numbering
from bapo.analysis.what_if.plan import Phase, PlannedStep, plan
from bapo.analysis.what_if.rounds import has_rounds, replay_rounds
from bapo.analysis.what_if.sizes import Replay, side_by_side, without_buffers
from bapo.analysis.what_if.stream import Counts, FreshGroups, RecordedStream
from bapo.config import RunConfig
from bapo.methods.bapo import bapo_config

MOST_AT_ONCE = 20
"""Replicates with fresh groups of their own that are in memory at once."""


def replay(stream: RecordedStream, phases: Sequence[Phase], *, replicates: int) -> Replay:
    """Compose every batch of the stream; the first of the phases begins at step 1.

    With another G than the recorded one every replicate has its own stream, of the same prompts.
    """
    config = phases[0].config
    group_size, seed = config.rollout.group_size, config.training.seed
    if stream.round_size is not None and not has_rounds(config):
        stream = stream.with_fresh(stream.fresh.first_of_each_step(stream.round_size))
    if group_size == stream.group_size:
        return _replayed(stream, [stream.fresh], phases, range(replicates))
    stream.pass_rates.priors(seed, replicates)
    found = []
    for first in range(0, replicates, MOST_AT_ONCE):
        keys = range(first, min(first + MOST_AT_ONCE, replicates))
        fresh = [answered_again(stream.fresh, stream.pass_rates, group_size, seed=seed, replicate=key) for key in keys]
        found.append(_replayed(stream, fresh, phases, keys))
    return side_by_side(found)


def _replayed(
    stream: RecordedStream, fresh: Sequence[FreshGroups], phases: Sequence[Phase], replicates: range
) -> Replay:
    """Return these replicates, of which each has its own fresh groups, or all have the same."""
    config = phases[0].config
    if has_buffers(config):
        found = _BapoReplay(stream.with_fresh(fresh[0]), fresh, phases, replicates).run()
    elif has_rounds(config):
        keys = [replicates] if len(fresh) == 1 else [range(key, key + 1) for key in replicates]
        found = side_by_side(
            [
                replay_rounds(stream.with_fresh(each), config, first=its.start, end=its.stop)
                for each, its in zip(fresh, keys, strict=True)
            ]
        )
    else:
        groups, mixed = _sizes_of(fresh)
        found = without_buffers(groups, mixed, np.zeros_like(groups), np.minimum(groups, config.training.batch_size))
    # All answers of another size are drawn, those of visited prompts too.
    return found if fresh[0].group_size == stream.group_size else found._replace(num_drawn=found.fresh)


def _sizes_of(fresh: Sequence[FreshGroups]) -> tuple[Counts, Counts]:
    """Return the fresh groups by step, and those with a gradient."""
    groups = np.array([each.per_step() for each in fresh])
    return groups, np.array([each.per_step(each.is_mixed) for each in fresh])


def has_buffers(config: RunConfig) -> bool:
    """Return whether the method keeps buffers; else every fresh group that finds room is the batch."""
    return config.method.as_bapo() is not None


class _BapoReplay:
    """The buffers of all replicates, step by step."""

    def __init__(
        self, stream: RecordedStream, fresh: Sequence[FreshGroups], phases: Sequence[Phase], replicates: range
    ) -> None:
        config = phases[0].config
        method = bapo_config(config)
        capacity = method.difficult_buffer.capacity
        self._stream = stream
        self._fresh = fresh
        self._plan = plan(fresh, phases)
        self._model = ReevaluationModel(stream, config.training.seed, len(replicates), replicates.start)
        self._batch_size = config.training.batch_size
        self._difficult_capacity = self._batch_size if capacity is None else capacity
        self._group_capacity = method.high_quality_buffer.capacity
        self._max_age = method.high_quality_buffer.max_age_steps
        self._num_replicates = len(replicates)
        self._num_apart = len(fresh)
        """Replicates that differ so far."""
        self._numbering = Numbering(stream.num_steps, stream.num_prompts, stream.group_size)
        self._difficult = self._reusable = np.empty(0, np.int64)
        self._place_of = np.full(stream.num_prompts, -1, np.int64)
        """Place of each prompt among the fresh groups of the step, or -1."""

    def run(self) -> Replay:
        rows = []
        num_starved = np.zeros(len(self._fresh), np.int64)
        for step in self._plan:
            rows.append(self._run_step(step))
            num_starved += step.reusable_min > step.reusable_max
        groups, mixed = _sizes_of(self._fresh)
        sizes = np.empty((8, self._num_apart, len(rows)), np.int64)
        for index, row in enumerate(rows):
            for kind, values in enumerate(row):
                sizes[kind, :, index] = values
        return Replay._make([groups, mixed, np.zeros_like(groups), *sizes, int(num_starved.min())])

    def _run_step(self, step: PlannedStep) -> Sequence[Counts]:
        """Return x1, x2, x3, reevaluated, estimated, surplus, and both buffers: a number for each replicate, or one
        for all.
        """
        self._place_of[step.prompts] = np.arange(len(step.prompts))
        numbering, room = self._numbering, self._batch_size - step.is_x1.sum(axis=1)
        candidates = self._candidates(step)
        is_replaced = self._is_fresh(self._reusable, step.is_reusable)
        self._store(self._reusable[~is_replaced], self._chosen(step, step.is_reusable))
        if step.is_new_phase:
            self._difficult = self._difficult[self._is_at_most(self._difficult, step.difficult_max)]
        self._see_fresh(step)
        self._place_of[step.prompts] = -1
        x2 = asked = estimated = surplus = num_taken = np.zeros(1, np.int64)
        if step.num_reevaluated_at_most:
            num_apart = self._num_apart
            groups, is_estimated = self._reevaluate(step)
            if self._num_apart > num_apart:
                candidates = numbering.for_each(candidates, self._num_apart)
            asked, estimated = self._num_of(groups), self._num_of(groups[is_estimated])
            is_all_right = numbering.num_correct(groups) == self._stream.group_size
            improved = groups[~self._is_at_most(groups, step.difficult_max) & ~is_all_right]
            finds_room = numbering.places(improved) < self._of_each(room, improved)
            x2 = self._num_of(improved[finds_room])
            num_taken = self._num_of(candidates[numbering.are_among(candidates, improved[finds_room])])
            stored = improved[~finds_room & self._is_reusable(improved, step)]
            surplus = self._num_of(stored)
            if len(stored):
                self._store(self._reusable[~numbering.are_among(self._reusable, stored)], stored)
        left = self._num_of(candidates) - num_taken
        x3 = np.minimum(left, room - x2) if step.reuses else np.zeros_like(left)
        self._reusable = self._reusable[numbering.step(self._reusable) > step.number - self._max_age]
        sizes = self._num_of(self._difficult), self._num_of(self._reusable)
        return self._batch_size - room, x2, x3, asked, estimated, surplus, *sizes

    def _chosen(self, step: PlannedStep, is_chosen: Mask) -> Groups:
        """Return those fresh groups of the step, in their order."""
        shape = self._num_apart, len(step.prompts)
        replicate, place = np.nonzero(np.broadcast_to(is_chosen, shape))
        counts = np.broadcast_to(step.num_correct, shape)[replicate, place]
        return self._numbering.groups(replicate, step.number, step.prompts[place], counts)

    def _is_fresh(self, groups: Groups, is_chosen: Mask) -> Mask:
        """Return which are of prompts that are among those fresh groups of the step."""
        places = self._place_of[self._numbering.prompt(groups)]
        replicates = self._numbering.replicate(groups) if len(is_chosen) > 1 else 0
        return np.asarray((places >= 0) & is_chosen[replicates, places])

    def _num_of(self, groups: Groups) -> Counts:
        """Return the number of these in each replicate."""
        return np.diff(self._numbering.bounds(groups, self._num_apart))

    def _of_each(self, values: Counts, groups: Groups) -> Counts:
        """Return the value of each group's replicate; all have the same where there is one."""
        return values[self._numbering.replicate(groups)] if len(values) > 1 else values

    def _is_at_most(self, groups: Groups, limits: Counts) -> Mask:
        return self._numbering.num_correct(groups) <= self._of_each(limits, groups)

    def _is_reusable(self, groups: Groups, step: PlannedStep) -> Mask:
        is_enough = self._numbering.num_correct(groups) >= self._of_each(step.reusable_min, groups)
        return is_enough & self._is_at_most(groups, step.reusable_max)

    # ------------------------------------------------------------ difficult buffer

    def _see_fresh(self, step: PlannedStep) -> None:
        """Enter, refresh and remove what this step's fresh groups say."""
        numbering, held, entering = self._numbering, self._difficult, self._chosen(step, step.is_difficult)
        is_removed = self._place_of[numbering.prompt(held)] >= 0
        if is_removed.any():
            num_evicted = self._evict_in_turn(held, is_removed, step)
            held = numbering.without_oldest(held[~is_removed], num_evicted)
        self._difficult = self._newest(numbering.with_newer(held, entering), self._difficult_capacity)

    def _newest(self, groups: Groups, capacity: int) -> Groups:
        """Drop the oldest of each replicate beyond the capacity."""
        return self._numbering.without_oldest(groups, self._num_of(groups) - capacity)

    def _evict_in_turn(self, held: Groups, is_removed: Mask, step: PlannedStep) -> Counts:
        """Return how many of each replicate are pushed out before the last one is removed; those are not removed.

        Prompts of today may be among those that others of today push out: it is a matter of the order of their groups.
        """
        num_evicted = np.zeros(self._num_apart, np.int64)
        shape = self._num_apart, len(step.prompts)
        num_entering = np.broadcast_to(np.cumsum(step.is_difficult, axis=1), shape)
        over = self._num_of(held) - self._difficult_capacity
        rows = np.flatnonzero(is_removed)
        rows = rows[(over + num_entering[:, -1])[self._numbering.replicate(held[rows])] > 0]
        if not len(rows):
            return num_evicted
        replicates = self._numbering.replicate(held[rows])
        places = self._place_of[self._numbering.prompt(held[rows])]
        num_before: Counts = (
            num_entering[replicates, places] - np.broadcast_to(step.is_difficult, shape)[replicates, places]
        )
        order = np.lexsort((places, replicates))
        ages = self._numbering.places(held)[rows]
        removed: list[list[int]] = [[] for _ in num_evicted]
        columns = (each[order].tolist() for each in (rows, replicates, ages, over[replicates] + num_before))
        for row, replicate, age, num_over in zip(*columns, strict=True):
            ahead = removed[replicate]
            num_evicted[replicate] = max(num_evicted[replicate], num_over - len(ahead))
            if age - sum(other < age for other in ahead) < num_evicted[replicate]:
                is_removed[row] = False
            else:
                ahead.append(age)
        return num_evicted

    def _reevaluate(self, step: PlannedStep) -> tuple[Groups, Mask]:
        """Answer difficult prompts again, least recently evaluated first, then by prompt; return which are estimates.

        The replicates part where an answer is one.
        """
        numbering, held, limit = self._numbering, self._difficult, step.num_reevaluated_at_most
        steps = numbering.step(held)
        # Stored in the order of their steps: the oldest are the first, and all others of the last one's step.
        bounds = numbering.bounds(held, self._num_apart)
        last = np.minimum(bounds[:-1] + limit, bounds[1:]) - 1
        until = np.minimum(steps[last], step.number - 1) if len(held) else np.zeros(1, np.int64)
        rows = np.flatnonzero(steps <= self._of_each(until, held))
        rows = rows[np.argsort(held[rows])]
        rows = rows[numbering.places(held[rows]) < limit]
        prompts, replicates = numbering.prompt(held[rows]), numbering.replicate(held[rows])
        answers = self._model.answers(prompts, step.number, replicates)
        if self._num_apart < self._num_replicates and answers.is_estimated.any():
            self._num_apart = self._num_replicates
            self._difficult, self._reusable = (
                numbering.for_each(each, self._num_apart) for each in (held, self._reusable)
            )
            return self._reevaluate(step)
        groups = numbering.groups(replicates, step.number, prompts, answers.num_correct)
        back = groups[self._is_at_most(groups, step.difficult_max)]
        self._difficult = numbering.with_newer(np.delete(held, rows), back)
        return groups, answers.is_estimated

    # ------------------------------------------------------------ high-quality buffer

    def _candidates(self, step: PlannedStep) -> Groups:
        """Return the stored groups within today's [c2, c3] whose prompts are not in X1; fixed before today's enter."""
        groups = self._reusable[self._is_reusable(self._reusable, step)]
        return groups[~self._is_fresh(groups, step.is_x1)]

    def _store(self, left: Groups, new: Groups) -> None:
        """Put groups behind those that are left; the oldest make room."""
        self._reusable = self._numbering.with_newer(left, new)
        if self._group_capacity is not None:
            self._reusable = self._newest(self._reusable, self._group_capacity)
