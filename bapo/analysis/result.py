"""The base of what analyses return, the figures that most of them have, and the changes of a run under way.

These types need no NumPy: the API serves them and the command line reads them without loading what computes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict


class Result(BaseModel):
    """Common base: JSON-ready, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class MeanEstimate(Result):
    """A figure with its 95 % interval."""

    value: float
    low: float | None
    """None where one run alone gives no interval."""
    high: float | None
    n: int
    """Runs, seeds or problems that it is taken over."""


class CostSpread(Result):
    """Median and range over runs."""

    median: float
    low: float
    high: float


class Savings(Result):
    """What runs saved against a baseline until they reached an accuracy, as a share of what that spent."""

    value: float
    """0.36: 36 % less than the baseline; below 0, they spent more."""
    spent: float
    """Mean over the runs."""
    baseline: float
    """Mean over the baseline's runs."""
    low: float | None
    """Bounds of the 95 % bootstrap interval; None where a side has one run only, or the value is the least."""
    high: float | None
    n: int
    """Runs."""
    num_baseline: int
    """Runs of the baseline."""
    is_least: bool
    """Whether baseline runs have not reached the accuracy, so that at least this much was saved."""


class SeedDisagreement(Result):
    """Differences by seed that vary more than they are large, with an interval that includes 0."""

    mean: float
    """Mean difference over the seeds."""
    deviation: float
    """Standard deviation over the seeds."""
    n: int
    """Seeds."""
    num_opposed: int
    """Seeds whose difference has the other sign than the mean."""
    seeds_needed: int | None
    """With as many, a difference of this size would be shown in four of five repetitions; None: more than 1,000."""


class AppliedChange(Result):
    """New values that the trainer of a running run took over."""

    step: int
    """First step with them."""
    set: Mapping[str, Any]
    """By dotted field."""
    author: str
