"""ARPO."""

from __future__ import annotations

from typing import ClassVar, Literal

from bapo.config.method.base import Look, MethodSection
from bapo.config.method.fields import Capacity, StepInterval


class ArpoConfig(MethodSection):
    """ARPO's replay rule: in a group that failed, a stored success replaces a response (arXiv:2505.16282)."""

    label: ClassVar = "ARPO"
    look: ClassVar = Look(10, "dash", "square-open")
    reuses_groups: ClassVar = True
    steerable: ClassVar = ("v",)

    type: Literal["arpo"] = "arpo"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    replaces: Literal["response", "batch"] = "response"
    """`response`, the source's rule: in each group that failed, a stored correct response to the same prompt replaces
    one of its responses. `batch`, as arXiv:2602.20722 describes it: where a whole batch failed, the step trains on
    stored groups instead."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: 256 if whole batches are replaced, else no limit."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""
