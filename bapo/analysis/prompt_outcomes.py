"""Summarises each prompt of a run in one row, and finds the stories by which prompts are filtered.

A story looks at a prompt's evaluations only, the visits in which a policy answered; a reused group repeats what an
earlier visit showed. Accuracies are compared as counts of correct responses, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.stories import Story
from bapo.analysis.visits import SOURCES, Visits

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

STUCK_EVALUATIONS = 3
OSCILLATING_SWINGS = 2


class PromptColumns(NamedTuple):
    """One row per prompt, in the order of `Visits.prompt_ids`, which is the order in which they were first seen."""

    rows: Integers
    """Rows of the visits, grouped by prompt, within a prompt by step."""
    starts: Integers
    """Index in `rows` of each prompt's first visit; one more element for the end."""
    first_step: Integers
    last_step: Integers
    seen_from: Flags
    """True if the prompt was visited from each of `SOURCES`, [prompts, sources]."""
    num_evaluations: Integers
    first_correct: Integers
    """Correct responses at the first evaluation."""
    last_correct: Integers
    best_correct: Integers
    variance: NDArray[np.float64]
    """Variance of the accuracy over the evaluations (population)."""
    stories: Mapping[Story, Flags]

    @property
    def num_visits(self) -> Integers:
        """Visits of each prompt, reuses included."""
        return np.diff(self.starts)

    def visits_of(self, prompt: int) -> Integers:
        """Return rows of one prompt's visits, by step."""
        return self.rows[self.starts[prompt] : self.starts[prompt + 1]]


def prompt_columns(visits: Visits) -> PromptColumns:
    """Sum up each prompt's visits."""
    num_prompts = len(visits.prompt_ids)
    rows, starts = _grouped(visits.prompt, num_prompts)
    step = visits.step[rows].astype(np.int64)
    seen_from = np.zeros((num_prompts, len(SOURCES)), np.bool_)
    seen_from[visits.prompt, visits.source] = True
    first_step, last_step = step[starts[:-1]], step[starts[1:] - 1]

    rows_answered = answered(visits)
    prompt = visits.prompt[rows_answered]
    order, evaluated_from = _grouped(prompt, num_prompts)
    correct = visits.num_correct[rows_answered][order].astype(np.int64)
    prompt = prompt[order]
    begin, end = evaluated_from[:-1], evaluated_from[1:]
    num_evaluations = end - begin
    first, last = correct[begin], correct[end - 1]
    totals = np.bincount(prompt, weights=correct, minlength=num_prompts)
    squares = np.bincount(prompt, weights=correct * correct, minlength=num_prompts)
    variance = (squares / num_evaluations - (totals / num_evaluations) ** 2) / visits.group_size**2
    best = np.zeros(num_prompts, np.int64)
    np.maximum.at(best, prompt, correct)

    size = visits.group_size
    run_end = int(visits.step.max(initial=0))
    several = num_evaluations >= 2
    stories: dict[Story, Flags] = {
        Story.UNLOCKED: several & (first == 0) & (last > 0),
        Story.SOLVED_LATER: several & (first == 0) & (2 * last >= size),
        Story.FORGOTTEN: (2 * best >= size) & (last == 0),
        Story.STUCK: (num_evaluations >= STUCK_EVALUATIONS) & (best == 0),
        Story.OSCILLATING: _swings(prompt, correct, size, num_prompts) >= OSCILLATING_SWINGS,
        Story.MASTERED: several & (first == size) & (last == size),
        Story.NEVER_SEEN_AGAIN: (first_step == last_step) & (2 * last_step <= run_end),
    }
    return PromptColumns(
        rows,
        starts,
        first_step,
        last_step,
        seen_from,
        num_evaluations,
        first,
        last,
        best,
        np.maximum(variance, 0.0),
        stories,
    )


def _grouped(prompt: NDArray[np.int32], num_prompts: int) -> tuple[Integers, Integers]:
    """Return rows sorted by prompt, in their order within one, and where each prompt's begin, with the end appended."""
    counts = np.bincount(prompt, minlength=num_prompts)
    return np.argsort(prompt, kind="stable"), np.concatenate(([0], np.cumsum(counts)))


def answered(visits: Visits) -> Flags:
    """Return the evaluations; of a prompt whose evaluations are not recorded, its reuses, which show what they had
    shown."""
    evaluations = visits.is_evaluation
    has_evaluation = np.zeros(len(visits.prompt_ids), np.bool_)
    has_evaluation[visits.prompt[evaluations]] = True
    return np.logical_or(evaluations, ~has_evaluation[visits.prompt])


def _swings(prompt: NDArray[np.int32], correct: Integers, group_size: int, num_prompts: int) -> Integers:
    """Count each prompt's changes between ≤ 1/4 and ≥ 3/4; accuracies in between are neither, which excludes noise."""
    high = 4 * correct >= 3 * group_size
    extreme = np.logical_or(high, 4 * correct <= group_size)
    high, prompt = high[extreme], prompt[extreme]
    changed = (high[1:] != high[:-1]) & (prompt[1:] == prompt[:-1])
    return np.bincount(prompt[1:][changed], minlength=num_prompts)


def thinned(rows: Integers, most: int) -> Integers:
    """Return at most so many of the rows, evenly spaced, with the first and the last among them."""
    if len(rows) <= most:
        return rows
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
