"""Fewer points than steps, without losing a peak."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def extreme_rows(columns: Sequence[Sequence[float | None]], num_rows: int, max_points: int) -> NDArray[np.intp]:
    """Rows to keep, in order: in equal buckets of rows, each column's smallest and largest value; and both ends.

    There are as many buckets as keep the number of rows to at most `max_points` and the two ends. All columns are
    given at all of these rows, so that each shows its extremes and more.
    """
    num_buckets = max(1, max_points // (2 * max(1, len(columns))))
    edges = np.linspace(0, num_rows, num_buckets + 1).astype(np.intp)
    kept = {0, num_rows - 1}
    for column in columns:
        values = np.array([np.nan if value is None else value for value in column], dtype=float)
        for begin, end in pairwise(edges):
            bucket = values[begin:end]
            if np.isnan(bucket).all():
                continue
            kept.add(int(begin + np.nanargmin(bucket)))
            kept.add(int(begin + np.nanargmax(bucket)))
    return np.array(sorted(kept), dtype=np.intp)
