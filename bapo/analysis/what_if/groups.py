"""Buffers of several replicates side by side: one number per group, those of a replicate in the order of storing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.what_if.stream import Counts

Mask = NDArray[np.bool_]
Groups = NDArray[np.int64]


class Numbering:
    """Packs replicate, step, prompt and right responses of a group into one number, in this order."""

    def __init__(self, num_steps: int, num_prompts: int, group_size: int) -> None:
        self._prompt_shift = group_size.bit_length()
        self._step_shift = self._prompt_shift + num_prompts.bit_length()
        self._replicate_shift = self._step_shift + num_steps.bit_length()

    def groups(self, replicate: Counts, step: int, prompt: Counts, num_correct: Counts) -> Groups:
        """Return the numbers of groups of one step."""
        first = (replicate << self._replicate_shift) + (step << self._step_shift)
        return np.asarray(first + (prompt << self._prompt_shift) + num_correct)

    def replicate(self, groups: Groups) -> Counts:
        """Return the replicate of each."""
        return groups >> self._replicate_shift

    def step(self, groups: Groups) -> Counts:
        """Return the step in which each was answered."""
        return _below(groups, self._replicate_shift) >> self._step_shift

    def prompt(self, groups: Groups) -> Counts:
        """Return the prompt of each."""
        return _below(groups, self._step_shift) >> self._prompt_shift

    def num_correct(self, groups: Groups) -> Counts:
        """Return the right responses of each."""
        return _below(groups, self._prompt_shift)

    def bounds(self, groups: Groups, num_replicates: int) -> Counts:
        """Return where the groups of each replicate begin, and the end."""
        # Sorted by replicate, if not within one.
        return np.searchsorted(groups, np.arange(num_replicates + 1) << self._replicate_shift)

    def for_each(self, groups: Groups, num_replicates: int) -> Groups:
        """Return what replicate 0 has as that of each replicate."""
        return (groups + (np.arange(num_replicates) << self._replicate_shift)[:, None]).ravel()

    def places(self, groups: Groups) -> Counts:
        """Return the place of each among those of its replicate, from 0."""
        sizes = np.bincount(self.replicate(groups))
        return np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)

    def with_newer(self, groups: Groups, newer: Groups) -> Groups:
        """Put newer groups behind the others of their replicate."""
        ends = np.searchsorted(groups, (self.replicate(newer) + 1) << self._replicate_shift)
        return np.insert(groups, ends, newer)

    def without_oldest(self, groups: Groups, nums: Counts) -> Groups:
        """Drop so many of each replicate, in the order of storing."""
        if not (nums > 0).any():
            return groups
        is_kept = np.ones(len(groups), np.bool_)
        bounds = self.bounds(groups, len(nums))
        for begin, num_groups, num in zip(bounds.tolist(), np.diff(bounds).tolist(), nums.tolist(), strict=False):
            is_kept[begin : begin + min(max(num, 0), num_groups)] = False
        return groups[is_kept]

    def are_among(self, groups: Groups, others: Groups) -> Mask:
        """Return which are of prompts of which the replicate has one among the others."""
        ours, theirs = ((self.replicate(each) << self._step_shift) + self.prompt(each) for each in (groups, others))
        return np.isin(ours, theirs)


def _below(groups: Groups, shift: int) -> Counts:
    return groups & ((1 << shift) - 1)
