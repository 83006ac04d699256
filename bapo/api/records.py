"""Recorded data of runs: series, histograms, records, logs, and the events that announce them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bapo.api.base import Body, Page


class MetricKeys(Page):
    """Names of the metrics recorded so far."""

    items: Sequence[str]


class Series(Body):
    """Metrics by column: `columns[key][i]` belongs to `steps[i]`; null if a step lacks the key."""

    steps: Sequence[int]
    columns: dict[str, Sequence[float | None]]


class SeriesGroup(Body):
    """Columns that share one sample of steps."""

    steps: Sequence[int]
    columns: dict[str, Sequence[float | None]]
    smoothed: dict[str, Sequence[float | None]]
    """Means over all steps up to each of these; empty unless requested."""
    sampled: str
    """`no`, or how steps were sampled."""


class SeriesGroups(Body):
    """Metrics for several charts, in the requested order."""

    groups: Sequence[SeriesGroup]


class RatioSeries(Body):
    """Histogram of the probability ratio ρ = π_θ / behaviour policy, in tokens per bin."""

    edges: Sequence[float]
    """Between the bins, of which the outer two are open: bin i is [edge i-1, edge i)."""
    first_steps: Sequence[int]
    steps: Sequence[int]
    """`counts[i]` sums the steps `first_steps[i]`..`steps[i]`."""
    counts: Sequence[Sequence[int]]


class StalenessSeries(Body):
    """Histogram of the staleness of trained groups: step - 1 - version of the policy that generated them."""

    ages: Sequence[int]
    """The values that occur, in order."""
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
    """Part of the trainer's output."""

    text: str
    next_offset: int
    """Use as `offset` to get what follows."""
    first_offset: int
    """Use as `before` to get what precedes; 0 at the beginning."""


class StreamEvent(Body):
    """One server-sent event.

    `step`: steps `data["from_step"]`..`data["step"]` are stored; `evaluation`, `tracking`, `event`: a record of that
    type is stored; `status`: the run's row changed, and where `data["from"]` is given its state; `alert`: an alert of
    the run was opened, resolved or acknowledged. `data["run_id"]` names the run. After a break, ask again with the last
    `id` in `Last-Event-ID`.
    """

    id: int
    event: Literal["step", "evaluation", "tracking", "event", "status", "alert"]
    data: dict[str, Any]
