"""ReMix."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.method.fields import Capacity, StepInterval
from bapo.config.section import Section


class RemixConfig(Section):
    """ReMix on GRPO: a fixed mix of fresh and stored groups, updated on more than once (arXiv:2507.06892)."""

    type: Literal["remix"] = "remix"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    reused_share: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of the training batch that comes from the buffer."""
    updates_per_batch: Annotated[int, Field(ge=1, le=100)] = 2
    """Passes over each training batch: the update-to-data ratio."""
    reincarnation_step: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Step from which training goes on on-policy. Empty: never."""
    capacity: Capacity | None = None
    """Groups held. Empty: no limit but the age."""
    max_age_steps: StepInterval = 3
    """Steps after which a group is no longer reused."""
