"""Columns of metrics as curves: smoothed over all steps, then sampled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.config.patterns import SMOOTHING

Values = NDArray[np.float64]
"""NaN where there is no value."""

NEGLIGIBLE_SPANS = 10
"""Spans after which a value's weight in an exponential mean is e^-20 of the newest one's."""


class Smoothing(NamedTuple):
    """A mean over the steps up to each step."""

    kind: Literal["mean", "ema"]
    span: int
    """Length: with `mean`, the last `span` steps have equal weight; with `ema`, weights fall by 1 - 2 / (span + 1)."""

    @property
    def reach(self) -> int:
        """Steps before a step that its value depends on."""
        return self.span - 1 if self.kind == "mean" else NEGLIGIBLE_SPANS * self.span


def smoothing_of(text: str) -> Smoothing:
    """Parse `mean:10` or `ema:20`. Raises ValueError for anything else."""
    match = re.fullmatch(SMOOTHING, text)
    if match is None:
        raise ValueError(f"{text!r} is not a smoothing: use mean:STEPS or ema:STEPS")
    kind: Literal["mean", "ema"] = "mean" if match[1] == "mean" else "ema"
    return Smoothing(kind, int(text.partition(":")[2]))


def smoothed(values: Values, smoothing: Smoothing) -> Values:
    """Return smoothed `values`, [columns, steps]; means leave gaps out, and are NaN if all their steps are gaps."""
    if not values.size:
        return values
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    weights = known.astype(np.float64)
    if smoothing.kind == "mean":
        totals, counts = (_window_sums(each, smoothing.span) for each in (filled, weights))
    else:
        totals, counts = (_decaying_sums(each, smoothing.span) for each in (filled, weights))
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 1e-9)


def _window_sums(values: Values, span: int) -> Values:
    padded = np.concatenate([np.zeros((len(values), span - 1)), values], axis=1)
    # Summed separately for each window: differences of running sums would lose digits.
    sums: Values = np.lib.stride_tricks.sliding_window_view(padded, span, axis=1).sum(axis=-1)
    return sums


def _decaying_sums(values: Values, span: int) -> Values:
    keep = 1 - 2 / (span + 1)
    sums = np.empty_like(values)
    running = np.zeros(len(values))
    for index in range(values.shape[1]):
        running = running * keep + values[:, index]
        sums[:, index] = running
    return sums


def extreme_rows(columns: Sequence[Values], num_rows: int, max_points: int) -> NDArray[np.intp]:
    """Return the rows to keep, in order: both ends, and in equal buckets of rows each column's extreme values.

    There are as many buckets as keep the number of rows to at most `max_points` and the two ends. All columns are
    given at all of these rows, so that each shows its extremes and more. Without columns the rows are evenly spaced.
    """
    if not columns:
        return np.unique(np.linspace(0, num_rows - 1, max_points).round().astype(np.intp))
    num_buckets = max(1, max_points // (2 * max(1, len(columns))))
    width = -(-num_rows // num_buckets)
    num_buckets = -(-num_rows // width)
    begins = np.arange(num_buckets) * width
    kept = [np.array([0, num_rows - 1])]
    for column in columns:
        padded = np.full(num_buckets * width, np.nan)
        padded[:num_rows] = column
        buckets = padded.reshape(num_buckets, width)
        gaps = np.isnan(buckets)
        known = ~gaps.all(axis=1)
        kept.append((begins + np.where(gaps, np.inf, buckets).argmin(axis=1))[known])
        kept.append((begins + np.where(gaps, -np.inf, buckets).argmax(axis=1))[known])
    return np.unique(np.concatenate(kept)).astype(np.intp)
