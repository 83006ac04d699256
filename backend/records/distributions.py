"""Histograms of probability ratios and staleness per step, or summed over several steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.records import repository
from backend.records.repository import StepRange
from bapo.analysis.visits import SOURCES, UNKNOWN_VERSION, Visits
from bapo.records import RATIO_BIN_EDGES

Counts = NDArray[np.int64]


class Spans(NamedTuple):
    """Neighbouring steps that are shown as one."""

    first_steps: Sequence[int]
    last_steps: Sequence[int]
    of_step: NDArray[np.intp]
    """Index of the span that each step belongs to."""
    num_steps_each: int


def spans_of(steps: NDArray[np.int64], max_points: int | None) -> Spans:
    """Return at most `max_points` spans of equally many of these steps, of which the last may have fewer."""
    width = 1 if max_points is None else max(1, -(-len(steps) // max_points))
    begins = np.arange(0, len(steps), width)
    ends = np.minimum(begins + width, len(steps)) - 1
    return Spans(steps[begins].tolist(), steps[ends].tolist(), np.arange(len(steps)) // width, width)


def ratios(session: Session, run_id: str, steps: StepRange, max_points: int | None) -> tuple[Spans, Counts]:
    """Return tokens per span of steps and bin of the ratio."""
    rows = repository.ratio_histograms(session, run_id, steps)
    spans = spans_of(np.array([step for step, _ in rows], dtype=np.int64), max_points)
    counts = np.zeros((len(spans.last_steps), len(RATIO_BIN_EDGES) + 1), dtype=np.int64)
    known = [index for index, (_, histogram) in enumerate(rows) if histogram]
    if known:
        np.add.at(counts, spans.of_step[known], np.array([rows[index][1] for index in known], dtype=np.int64))
    return spans, counts


def staleness(visits: Visits, steps: StepRange, max_points: int | None) -> tuple[Spans, list[int], dict[str, Counts]]:
    """Return the ages that occur among the groups trained on, and per source the groups by span of steps and age."""
    within = (visits.step >= steps.first) & (visits.step <= steps.last)
    numbers = np.unique(visits.step[within]).astype(np.int64)
    spans = spans_of(numbers, max_points)
    trained = within & visits.in_batch & (visits.policy_version != UNKNOWN_VERSION)
    age = visits.step[trained] - 1 - visits.policy_version[trained]
    ages, age_row = np.unique(age, return_inverse=True)
    span = spans.of_step[np.searchsorted(numbers, visits.step[trained])]
    counts = {}
    for number, source in enumerate(SOURCES):
        of_source = visits.source[trained] == number
        cells = span[of_source] * len(ages) + age_row[of_source]
        table = np.bincount(cells, minlength=len(spans.last_steps) * len(ages))
        counts[source.value] = table.reshape(len(spans.last_steps), len(ages))
    return spans, ages.tolist(), counts
