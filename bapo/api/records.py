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
    """Ask again with it for what came later."""
