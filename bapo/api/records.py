"""What a run recorded: series, histograms, whole records, the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bapo.api.base import Body, Page


class MetricKeys(Page):
    """Names of the metrics that a run has recorded so far."""

    items: Sequence[str]


class Series(Body):
    """Columnar metrics: `columns[key][i]` belongs to `steps[i]`; None where a step lacks the key."""

    steps: Sequence[int]
    columns: dict[str, Sequence[float | None]]


class SeriesGroup(Body):
    """Columns that were sampled together, for themselves."""

    steps: Sequence[int]
    columns: dict[str, Sequence[float | None]]
    smoothed: dict[str, Sequence[float | None]]
    """Means over all steps up to each of these; empty unless asked for."""
    sampled: str
    """`no`, or how steps were left out."""


class SeriesGroups(Body):
    """Columns of metrics for several charts, in the order in which they were asked for."""

    groups: Sequence[SeriesGroup]


class RatioSeries(Body):
    """How far ρ = π_θ / behaviour policy lay from 1: tokens per bin."""

    edges: Sequence[float]
    """Between the bins, of which the outer two are open: bin i is [edge i-1, edge i)."""
    first_steps: Sequence[int]
    steps: Sequence[int]
    """`counts[i]` sums the steps `first_steps[i]`..`steps[i]`."""
    counts: Sequence[Sequence[int]]


class StalenessSeries(Body):
    """How old the groups were that a run trained on: step - 1 - version of the policy that generated them."""

    ages: Sequence[int]
    """Those that occur, in order."""
    first_steps: Sequence[int]
    steps: Sequence[int]
    counts: dict[str, Sequence[Sequence[int]]]
    """By source, `counts[source][i][j]`: groups of `ages[j]` in the steps `first_steps[i]`..`steps[i]`."""


class HistogramSeries(Body):
    """Counts per accuracy group 0..G of each step."""

    steps: Sequence[int]
    fresh: Sequence[Sequence[int]]
    reevaluated: Sequence[Sequence[int]]
    batch: Sequence[Sequence[int]]


class RecordPage(Page):
    """Whole journal records (step, evaluation, tracking, event), ordered by step."""

    items: Sequence[dict[str, Any]]


class LogChunk(Body):
    """A piece of the trainer's output."""

    text: str
    next_offset: int
    """Ask again with it as `offset` for what came later."""
    first_offset: int
    """Ask again with it as `before` for what came earlier; 0 where this is the beginning."""
