"""The base of what analyses return, the two figures that most of them have, and the changes of a run under way.

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


class AppliedChange(Result):
    """New values that the trainer of a running run took over."""

    step: int
    """First step with them."""
    set: Mapping[str, Any]
    """By dotted field."""
    author: str
