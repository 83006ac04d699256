"""Batch construction over a whole recorded stream at once: counts instead of groups, several replicates side by side.

What `bapo.methods` does step by step, with the same thresholds, filters and order, for the sizes of batches and buffers
only: which stored groups X3 takes changes no size and is not drawn. r_tot, X1 and what fresh groups do to the
high-quality buffer do not depend on re-evaluations and are computed once for all replicates. That both agree at every
step, for every legal config and stream, is tested in `tests/bapo/analysis/test_replay.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence, Set
from itertools import chain, islice, pairwise, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.what_if.answers import Answers, ReevaluationModel, answered_again
from bapo.analysis.what_if.plan import Entries, Phase, PlannedStep, numbering, plan
from bapo.analysis.what_if.rounds import has_rounds, replay_rounds
from bapo.analysis.what_if.sizes import Replay, side_by_side, without_buffers
from bapo.analysis.what_if.stream import Counts, RecordedStream
from bapo.config import RunConfig
from bapo.methods.bapo import bapo_config


def replay(stream: RecordedStream, phases: Sequence[Phase], *, replicates: int) -> Replay:
    """Compose every batch of the stream; the first of the phases begins at step 1.

    With another G than the recorded one every replicate has its own stream, of the same prompts.
    """
    config = phases[0].config
    group_size, seed = config.rollout.group_size, config.training.seed
    if stream.round_size is not None and not has_rounds(config):
        stream = stream.with_fresh(stream.fresh.first_of_each_step(stream.round_size))
    if group_size == stream.group_size:
        return _replayed(stream, phases, first=0, end=replicates)
    stream.pass_rates.priors(seed, replicates)
    found = []
    for replicate in range(replicates):
        fresh = answered_again(stream.fresh, stream.pass_rates, group_size, seed=seed, replicate=replicate)
        found.append(_replayed(stream.with_fresh(fresh), phases, first=replicate, end=replicate + 1))
    return side_by_side(found)


def _replayed(stream: RecordedStream, phases: Sequence[Phase], *, first: int, end: int) -> Replay:
    """Return the replicates first..end - 1 over one stream."""
    config, fresh = phases[0].config, stream.fresh
    if has_rounds(config):
        found = replay_rounds(stream, config, first=first, end=end)
    elif has_buffers(config):
        found = _BapoReplay(stream, phases, end - first, first).run()
    else:
        groups = fresh.per_step()[None]
        x1 = np.minimum(groups, config.training.batch_size)
        found = without_buffers(groups, fresh.per_step(fresh.is_mixed)[None], np.zeros_like(groups), x1)
    # All answers of another size are drawn, those of visited prompts too.
    return found if fresh.group_size == stream.evaluations.group_size else found._replace(num_drawn=found.fresh)


def has_buffers(config: RunConfig) -> bool:
    """Return whether the method keeps buffers; else every fresh group that finds room is the batch."""
    return config.method.as_bapo() is not None


class _Replicate:
    """The buffers of one replicate."""

    __slots__ = ("candidates", "difficult", "groups", "groups_until")

    def __init__(self, difficult: Entries) -> None:
        self.difficult = difficult
        self.groups: Entries | None = None
        """High-quality buffer while it differs from the one that fresh groups alone make."""
        self.groups_until = 0
        """Last step after which it can differ: what made the difference has aged out then."""
        self.candidates: Set[int] = frozenset()
        """Candidates for X3 in the current step, from its own groups."""

    def copy(self) -> _Replicate:
        copied = _Replicate(self.difficult.copy())
        copied.groups = None if self.groups is None else self.groups.copy()
        copied.groups_until, copied.candidates = self.groups_until, self.candidates
        return copied


class _Groups(NamedTuple):
    """Some re-evaluated groups of one replicate, in their order."""

    prompts: Sequence[int]
    entries: Sequence[int]


class _Reevaluation(NamedTuple):
    """The outcome of answering difficult prompts again, by replicate."""

    num_asked: Sequence[int]
    num_estimated: Sequence[int]
    improved: Sequence[_Groups]
    """Lifted above c1, but not to 1."""


class _BapoReplay:
    """The buffers of all replicates, step by step."""

    def __init__(self, stream: RecordedStream, phases: Sequence[Phase], replicates: int, first_replicate: int) -> None:
        config = phases[0].config
        method = bapo_config(config)
        capacity = method.difficult_buffer.capacity
        self._stream = stream
        self._plan = plan(stream, phases)
        self._numbering = numbering(stream)
        self._model = ReevaluationModel(stream, config.training.seed, replicates, first_replicate)
        self._batch_size = config.training.batch_size
        self._difficult_capacity = self._batch_size if capacity is None else capacity
        self._group_capacity = method.high_quality_buffer.capacity
        self._max_age = method.high_quality_buffer.max_age_steps
        self._num_replicates = replicates
        self._replicates = [_Replicate({})]
        self._groups: Entries = {}
        """High-quality buffer that fresh groups alone make."""

    def run(self) -> Replay:
        x1, rows, num_starved = [], [], 0
        for step in self._plan:
            x1.append(len(step.x1_prompts))
            rows.append(self._run_step(step))
            num_starved += step.limits.reusable_min > step.limits.reusable_max
        sizes = np.empty((7, len(self._replicates), len(rows)), np.int64)
        for index, row in enumerate(rows):
            for kind, values in enumerate(row):
                sizes[kind, :, index] = values
        fresh = self._stream.fresh
        groups, mixed = fresh.per_step()[None], fresh.per_step(fresh.is_mixed)[None]
        return Replay._make([groups, mixed, np.zeros_like(groups), np.array([x1], np.int64), *sizes, num_starved])

    def _run_step(self, step: PlannedStep) -> Sequence[Sequence[int]]:
        """Return x2, x3, reevaluated, estimated, surplus, and both buffers: a number for each replicate, or one for
        all.
        """
        candidates = self._candidates(self._groups, step)
        self._store(self._groups, step.stored)
        for replicate in self._replicates:
            replicate.candidates = candidates
            if step.is_new_phase:
                _keep_difficult(replicate, step.limits.difficult_max, self._numbering.per_prompt)
            self._see_fresh(replicate.difficult, step)
            if replicate.groups is not None:
                replicate.candidates = self._candidates(replicate.groups, step)
                self._store(replicate.groups, step.stored)
        room = self._batch_size - len(step.x1_prompts)
        asked: Sequence[int] = (0,)
        estimated: Sequence[int] = (0,)
        surplus: Sequence[int] = (0,)
        x2: Sequence[int] = (0,)
        if step.num_reevaluated_at_most:
            asked, estimated, improved = self._reevaluate(step)
            surplus = [
                self._store_surplus(replicate, _Groups(each.prompts[room:], each.entries[room:]), step)
                for replicate, each in zip(self._replicates, improved, strict=True)
            ]
            x2 = [min(len(each.prompts), room) for each in improved]
            taken = [
                sum(map(replicate.candidates.__contains__, each.prompts[:room]))
                for replicate, each in zip(self._replicates, improved, strict=True)
            ]
            left = [len(replicate.candidates) - num for replicate, num in zip(self._replicates, taken, strict=True)]
        else:
            left = [len(replicate.candidates) for replicate in self._replicates]
            x2 = [0] * len(left)
        x3 = [min(num, room - used) for num, used in zip(left, x2, strict=True)] if step.reuses else (0,)
        self._expire(step)
        shared = len(self._groups)
        groups = [shared if replicate.groups is None else len(replicate.groups) for replicate in self._replicates]
        return x2, x3, asked, estimated, surplus, [len(replicate.difficult) for replicate in self._replicates], groups

    # ------------------------------------------------------------ difficult buffer

    def _see_fresh(self, difficult: Entries, step: PlannedStep) -> None:
        """Enter, refresh and remove what this step's fresh groups say."""
        present = [each for each in step.leaving if each[0] in difficult]
        entering = step.entering
        if present and len(difficult) + len(entering) > self._difficult_capacity:
            # Prompts of today may be among those that others of today push out: in the order of their groups.
            pairs = list(entering.items())
            num_entered = 0
            for prompt, num_before in present:
                self._enter(difficult, dict(pairs[num_entered:num_before]))
                difficult.pop(prompt, None)
                num_entered = num_before
            entering = dict(pairs[num_entered:])
        else:
            for prompt, _ in present:
                del difficult[prompt]
        self._enter(difficult, entering)

    def _enter(self, difficult: Entries, new: Entries) -> None:
        """Put prompts in that are not there; the least recently seen make room."""
        difficult.update(new)
        _drop_oldest(difficult, len(difficult) - self._difficult_capacity)

    def _least_recently_evaluated(self, difficult: Entries, step: PlannedStep) -> Sequence[int]:
        """Return entries to answer again: by step, then by prompt; those of this step are fresh."""
        limit, per_step = step.num_reevaluated_at_most, self._numbering.per_step
        entries = iter(difficult.values())
        oldest = list(islice(entries, limit))
        if len(oldest) == limit:
            # All others of the same step, among which prompts decide.
            oldest += takewhile((oldest[-1] // per_step * per_step + per_step).__gt__, entries)
        oldest.sort()
        return oldest[: min(limit, bisect_left(oldest, step.number * per_step))]

    def _reevaluate(self, step: PlannedStep) -> _Reevaluation:
        """Answer difficult prompts again in every replicate; replicates part where an answer is an estimate."""
        asked = [self._least_recently_evaluated(replicate.difficult, step) for replicate in self._replicates]
        prompts, answers = self._answers(asked, step)
        if len(self._replicates) < self._num_replicates and answers.is_estimated.any():
            self._replicates += [self._replicates[0].copy() for _ in range(self._num_replicates - 1)]
            asked *= self._num_replicates
            prompts, answers = self._answers(asked, step)
        bounds = np.cumsum([0, *map(len, asked)])
        entries = self._numbering.entries(step.number, prompts, answers.num_correct)
        is_difficult = answers.num_correct <= step.limits.difficult_max
        is_improved = ~is_difficult & (answers.num_correct < self._stream.group_size)
        left, ends = prompts.tolist(), bounds.tolist()
        back = _split(prompts, entries, is_difficult, bounds)
        for replicate, still, (begin, end) in zip(self._replicates, back, pairwise(ends), strict=True):
            difficult = replicate.difficult
            for prompt in left[begin:end]:
                del difficult[prompt]
            difficult.update(zip(still.prompts, still.entries, strict=True))
        return _Reevaluation(
            np.diff(bounds).tolist(),
            np.diff(_num_before(answers.is_estimated, bounds)).tolist(),
            _split(prompts, entries, is_improved, bounds),
        )

    def _answers(self, asked: Sequence[Sequence[int]], step: PlannedStep) -> tuple[Counts, Answers]:
        """Return prompts of all replicates, one after the other, and their answers."""
        lengths = [len(entries) for entries in asked]
        entries = np.fromiter(chain.from_iterable(asked), np.int64, sum(lengths))
        prompts = self._numbering.prompts(entries)
        replicates = np.repeat(np.arange(len(asked)), lengths)
        return prompts, self._model.answers(prompts, step.number, replicates)

    # ------------------------------------------------------------ high-quality buffer

    def _candidates(self, groups: Entries, step: PlannedStep) -> Set[int]:
        """Return the stored prompts within today's [c2, c3] that are not in X1; fixed before today's groups enter."""
        low, high = step.limits.reusable_min, step.limits.reusable_max
        per_prompt = self._numbering.per_prompt
        found = {prompt for prompt, entry in groups.items() if low <= entry % per_prompt <= high}
        return found - step.x1_prompts

    def _store(self, groups: Entries, new: Entries) -> None:
        """Put groups in, each in place of one of its prompt; the oldest make room."""
        for prompt in groups.keys() & new.keys():
            del groups[prompt]
        groups.update(new)
        if self._group_capacity is not None:
            _drop_oldest(groups, len(groups) - self._group_capacity)

    def _store_surplus(self, replicate: _Replicate, surplus: _Groups, step: PlannedStep) -> int:
        """Keep what found no room where it may be reused later; how many."""
        per_prompt = self._numbering.per_prompt
        low, high = step.limits.reusable_min, step.limits.reusable_max
        new = {prompt: entry for prompt, entry in zip(*surplus, strict=True) if low <= entry % per_prompt <= high}
        if new:
            if replicate.groups is None:
                replicate.groups = self._groups.copy()
            self._store(replicate.groups, new)
            replicate.groups_until = step.number + self._max_age
        return len(new)

    def _expire(self, step: PlannedStep) -> None:
        """Drop the groups that are too old for the next step."""
        first_kept = (step.number + 1 - self._max_age) * self._numbering.per_step
        for groups in (
            self._groups,
            *(replicate.groups for replicate in self._replicates if replicate.groups is not None),
        ):
            _drop_oldest(groups, sum(1 for _ in takewhile(first_kept.__gt__, groups.values())))
        for replicate in self._replicates:
            if replicate.groups_until <= step.number:
                replicate.groups = None


def _keep_difficult(replicate: _Replicate, difficult_max: int, per_prompt: int) -> None:
    """Drop the prompts that a changed c1 no longer calls difficult."""
    replicate.difficult = {
        prompt: entry for prompt, entry in replicate.difficult.items() if entry % per_prompt <= difficult_max
    }


def _drop_oldest(entries: Entries, num: int) -> None:
    if num > 0:
        for prompt in list(islice(entries, num)):
            del entries[prompt]


def _split(prompts: Counts, entries: Counts, chosen: NDArray[np.bool_], bounds: Counts) -> list[_Groups]:
    """Return the chosen groups, by replicate."""
    ends = _num_before(chosen, bounds).tolist()
    all_prompts, all_entries = prompts[chosen].tolist(), entries[chosen].tolist()
    return [_Groups(all_prompts[begin:end], all_entries[begin:end]) for begin, end in pairwise(ends)]


def _num_before(chosen: NDArray[np.bool_], bounds: Counts) -> Counts:
    """Return the number of chosen ones before each bound."""
    return np.concatenate(([0], np.cumsum(chosen)))[bounds]
