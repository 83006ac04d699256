"""Means, shares and slopes with 95 % intervals. NumPy alone, so that `bapo findings` needs no extra."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.evaluation import wilson_interval

Z95 = 1.959963985
Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


def t95(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t (Cornish–Fisher expansion; within 1 % from 3 degrees of freedom on)."""
    z = Z95
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )


def mean_of(values: Floats) -> Estimate:
    """Return the mean of at least two independent values."""
    value = float(values.mean())
    width = t95(max(3, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Estimate(value, value - width, value + width)


def blocks_of(values: Floats, num_blocks: int) -> Floats:
    """Return the means of blocks of consecutive values, which are nearly independent even if neighbours are not."""
    return np.array([block.mean() for block in np.array_split(values, num_blocks)])


def clustered_share(hits: Floats, sizes: Floats) -> Estimate:
    """Return Σ hits / Σ sizes over clusters; the interval treats clusters, not their members, as independent.

    Var = C/(C-1) · Σ (hits_c - share · sizes_c)² / (Σ sizes)², the linearised variance of a ratio. Where no cluster
    differs from another, the interval is Wilson's: over the clusters if all or none of their members are hits, else
    over the members.
    """
    total = float(sizes.sum())
    share = float(hits.sum()) / total
    num_clusters = len(sizes)
    variance = num_clusters / max(1, num_clusters - 1) * float(np.square(hits - share * sizes).sum()) / total**2
    if variance < 1e-20:
        found = wilson_interval(share, num_clusters if share in (0.0, 1.0) else total)
        return Estimate(found.value, found.low, found.high)
    width = Z95 * variance**0.5
    return Estimate(share, max(0.0, share - width), min(1.0, share + width))


def least_squares(design: Floats, values: Floats) -> tuple[Floats, Floats, float]:
    """Return the coefficients, their standard errors, and the sum of squared residuals."""
    coefficients, *_ = np.linalg.lstsq(design, values, rcond=None)
    residuals = values - design @ coefficients
    squares = float(residuals @ residuals)
    degrees = max(1, len(values) - design.shape[1])
    covariance = np.linalg.pinv(design.T @ design) * (squares / degrees)
    errors: Floats = np.sqrt(np.diag(covariance))
    return np.asarray(coefficients, np.float64), errors, squares


def slope_of(steps: Floats, values: Floats) -> Estimate:
    """Return the least-squares slope per step over at least four values with independent errors."""
    design = np.column_stack([np.ones(len(steps)), steps - steps.mean()])
    coefficients, errors, _ = least_squares(design, values)
    width = t95(max(3, len(steps) - 2)) * float(errors[1])
    slope = float(coefficients[1])
    return Estimate(slope, slope - width, slope + width)
