"""ARPO."""

from __future__ import annotations

from typing import Literal

from bapo.config.method.fields import Capacity, StepInterval
from bapo.config.section import Section


class ArpoConfig(Section):
    """ARPO's replay rule: stored groups with a reward are used only where there is none (arXiv:2505.16282)."""

    type: Literal["arpo"] = "arpo"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    replaces: Literal["batch", "response"] = "batch"
    """`batch`: where a whole batch failed, stored groups are trained on instead; `response`: in each group that
    failed, one response gives way to a stored right one of the same prompt."""
    capacity: Capacity | None = None
    """Groups held, one per prompt. Empty: no limit; for dots B, for arpo 256 where it replaces whole batches."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""
