"""Prepares the steps of a replay: thresholds, X1 and stored groups, which no re-evaluation changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bapo.analysis.what_if.groups import Mask
from bapo.analysis.what_if.stream import Counts, FreshGroups
from bapo.config import RunConfig
from bapo.draws import generator
from bapo.filters import kept_places
from bapo.methods.bapo import BapoConfig, bapo_config
from bapo.thresholds import count_limits


class Phase(NamedTuple):
    """A config, and the step from which it holds."""

    first_step: int
    config: RunConfig


class PlannedStep(NamedTuple):
    """One step without its re-evaluations: of each replicate, or of one where all have the same fresh groups."""

    number: int
    is_new_phase: bool
    num_reevaluated_at_most: int
    """0 where nothing is re-evaluated in this step."""
    reuses: bool
    difficult_max: Counts
    reusable_min: Counts
    reusable_max: Counts
    """Limits as in `CountLimits`: `[replicates]`."""
    prompts: Counts
    """Prompts of the fresh groups: `[groups]`."""
    num_correct: Counts
    """`[replicates, groups]`, as all that follow."""
    is_x1: Mask
    is_difficult: Mask
    is_reusable: Mask


def plan(fresh: Sequence[FreshGroups], phases: Sequence[Phase]) -> Iterator[PlannedStep]:
    """Prepare all steps of replicates with the same prompts. The phases are in order, the first one from step 1."""
    first, training = fresh[0], phases[0].config.training
    methods = _methods(first.num_steps, phases)
    method_of_step = [method for method, places in methods for _ in places]
    first_steps = {phase.first_step for phase in phases[1:]}
    limits = np.array([_limits(each, methods) for each in fresh], np.int64).reshape(len(fresh), -1, 3)
    num_correct = np.array([each.num_correct for each in fresh])
    is_kept = np.array([_kept(each, method_of_step, training.seed) for each in fresh])
    is_last = _is_last_of_step(first)
    for number, (method, rows) in enumerate(zip(method_of_step, first.slices(), strict=True), start=1):
        difficult_max, reusable_min, reusable_max = limits[:, number - 1].T
        counts, kept = num_correct[:, rows], is_kept[:, rows]
        reevaluates = "reevaluated" not in method.without and number % method.m == 0
        yield PlannedStep(
            number=number,
            is_new_phase=number in first_steps,
            num_reevaluated_at_most=method.max_reevaluated_prompts if reevaluates else 0,
            reuses="reused" not in method.without,
            difficult_max=difficult_max,
            reusable_min=reusable_min,
            reusable_max=reusable_max,
            prompts=first.prompt[rows],
            num_correct=counts,
            is_x1=kept & (np.cumsum(kept, axis=1) <= training.batch_size),
            is_difficult=is_last[rows] & (counts <= difficult_max[:, None]),
            is_reusable=is_last[rows] & (reusable_min[:, None] <= counts) & (counts <= reusable_max[:, None]),
        )


def _methods(num_steps: int, phases: Sequence[Phase]) -> list[tuple[BapoConfig, range]]:
    """Return each phase's method, and the places of its steps."""
    ends = [phase.first_step for phase in phases[1:]] + [num_steps + 1]
    return [
        (bapo_config(phase.config), range(phase.first_step - 1, min(end, num_steps + 1) - 1))
        for phase, end in zip(phases, ends, strict=True)
    ]


def _limits(fresh: FreshGroups, methods: Sequence[tuple[BapoConfig, range]]) -> list[tuple[int, ...]]:
    return [
        limits
        for method, places in methods
        for limits in count_limits(
            fresh.mean_accuracy[places.start : places.stop],
            c1=method.c1,
            c2=method.c2,
            c3=method.c3,
            group_size=fresh.group_size,
        )
    ]


def _is_last_of_step(fresh: FreshGroups) -> Mask:
    """Return which groups are the last of their prompt in the step: another trainer may draw a prompt twice."""
    keys = fresh.step * (fresh.prompt.max(initial=0) + 1) + fresh.prompt
    order = np.argsort(keys, kind="stable")
    is_last = np.empty(len(keys), np.bool_)
    is_last[order] = np.diff(keys[order], append=-1) != 0
    return is_last


def _kept(fresh: FreshGroups, methods: Sequence[BapoConfig], seed: int) -> Mask:
    """Return which fresh rows the online filter lets into X1."""
    if all(method.filter.type == "range" for method in methods):
        # As `kept_places` does it, for all steps at once.
        return fresh.is_mixed
    counts = fresh.num_correct.tolist()
    is_kept = np.zeros(len(counts), np.bool_)
    for index, (method, (begin, end)) in enumerate(zip(methods, pairwise(fresh.first.tolist()), strict=True)):
        draw = generator(seed, index + 1, "filter")
        is_kept[begin:end][kept_places(method.filter, counts[begin:end], fresh.group_size, draw)] = True
    return is_kept
