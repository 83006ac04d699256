"""Samples points of a series without losing its extremes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
"""NaN where there is no value."""


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
