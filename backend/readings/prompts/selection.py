"""Filters and sorts a run's prompts over columns in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.prompt_outcomes import Flags, PromptColumns, prompt_columns
from bapo.analysis.visits import SOURCES, Visits
from bapo.api.prompts import PromptFilter, PromptOrder, Story

NUM_KEPT = 8
"""Runs whose prompts are kept summed up."""


class _Identity:
    """Visits that are the same object: they cannot be changed."""

    def __init__(self, visits: Visits) -> None:
        self.visits = visits

    def __hash__(self) -> int:
        return id(self.visits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.visits is other.visits


@lru_cache(maxsize=NUM_KEPT)
def _summed_up(identity: _Identity) -> PromptColumns:
    return prompt_columns(identity.visits)


class RunPrompts(NamedTuple):
    """The prompts of a run as of some step."""

    visits: Visits
    columns: PromptColumns

    @classmethod
    def of(cls, visits: Visits) -> RunPrompts:
        """Return the run's prompts, summed up once for the same visits."""
        return cls(visits, _summed_up(_Identity(visits)))

    def number_of(self, prompt_id: str) -> int | None:
        """Return the prompt's row; None for a prompt that the run has not met."""
        try:
            return self.visits.prompt_ids.index(prompt_id)
        except ValueError:
            return None


_KEYS: Mapping[PromptOrder, Callable[[PromptColumns], NDArray[np.float64]]] = {
    "first_step": lambda columns: columns.first_step.astype(np.float64),
    "last_step": lambda columns: columns.last_step.astype(np.float64),
    "first_accuracy": lambda columns: columns.first_correct.astype(np.float64),
    "last_accuracy": lambda columns: columns.last_correct.astype(np.float64),
    "gain": lambda columns: (columns.last_correct - columns.first_correct).astype(np.float64),
    "visits": lambda columns: columns.num_visits.astype(np.float64),
    "variance": lambda columns: columns.variance,
}


class Selection(NamedTuple):
    """Prompts that match a filter."""

    numbers: NDArray[np.int64]
    """Rows of the prompts, in the order that was asked for; equal prompts in the order in which they were met."""
    keys: NDArray[np.float64]
    """Keys that they are sorted by, ascending, as long as `numbers`."""
    stories: Mapping[Story, int]
    """Prompts of each story that the rest of the filter matches."""

    def after(self, key: float, number: int) -> Selection:
        """Return the rows after a place, whether or not a prompt is still there."""
        behind = np.logical_or(self.keys > key, (self.keys == key) & (self.numbers > number))
        return self._replace(numbers=self.numbers[behind], keys=self.keys[behind])


def select(prompts: RunPrompts, wanted: PromptFilter, saying: frozenset[str]) -> Selection:
    """Apply a filter; `saying` are the prompts whose text has what is searched for."""
    columns = prompts.columns
    matched = _matched(prompts, wanted, saying)
    stories = {story: int(np.count_nonzero(flags & matched)) for story, flags in columns.stories.items()}
    if wanted.story is not None:
        matched = matched & columns.stories[wanted.story]
    numbers = np.flatnonzero(matched)
    keys = _KEYS[wanted.sort](columns)[numbers]
    if wanted.descending:
        keys = -keys
    order = np.argsort(keys, kind="stable")
    return Selection(numbers[order], keys[order], stories)


def _matched(prompts: RunPrompts, wanted: PromptFilter, saying: frozenset[str]) -> Flags:
    columns = prompts.columns
    matched = np.ones(len(prompts.visits.prompt_ids), np.bool_)
    if wanted.source is not None:
        matched &= columns.seen_from[:, SOURCES.index(wanted.source)]
    if wanted.min_first is not None:
        matched &= columns.first_correct >= wanted.min_first
    if wanted.max_first is not None:
        matched &= columns.first_correct <= wanted.max_first
    if wanted.min_last is not None:
        matched &= columns.last_correct >= wanted.min_last
    if wanted.max_last is not None:
        matched &= columns.last_correct <= wanted.max_last
    if wanted.search:
        part = wanted.search.lower()
        ids = prompts.visits.prompt_ids
        matched &= np.fromiter((part in each.lower() or each in saying for each in ids), np.bool_, count=len(ids))
    return matched
