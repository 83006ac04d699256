"""A recorded step of a run, walked line by line along its method's rule."""

from __future__ import annotations

from pydantic import Field

from bapo.analysis.walk.answer import StepWalk, WalkGroup, WalkLine, WalkOutcome
from bapo.api.base import Parameters, Text

__all__ = ["StepWalk", "WalkGroup", "WalkLine", "WalkOutcome", "WalkRequest"]

MAX_STEP = 2**31 - 1


class WalkRequest(Parameters):
    """Parameters of a walk: the step, the thresholds, and the listed groups."""

    step: int | None = Field(default=None, ge=1, le=MAX_STEP)
    """Defaults to the newest."""
    c1: Text | None = Field(default=None, max_length=100, examples=["1/4"])
    """Another difficulty threshold for this step, such as `1/4` or `0.25`; defaults to the recorded one."""
    c2: Text | None = Field(default=None, max_length=100, examples=["1/8"])
    """Another lower reuse threshold for this step."""
    c3: Text | None = Field(default=None, max_length=100, examples=["1/2"])
    """Another upper reuse threshold for this step."""
    limit: int = Field(default=8, ge=0, le=1_000)
    """Most groups to list for each outcome of each line; counts are always of all."""
    offset: int = Field(default=0, ge=0, le=10_000_000)
    """Number of groups to skip in each outcome."""
    line: Text | None = Field(default=None, max_length=100)
    """Key of the only line to list groups of."""
    outcome: Text | None = Field(default=None, max_length=100)
    """Name of the only outcome to list groups of."""
