"""ReMix."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method.base import Look, MethodSection
from bapo.config.method.fields import Capacity, StepInterval


class RemixConfig(MethodSection):
    """ReMix on GRPO: a fixed mix of fresh and stored groups, updated on more than once (arXiv:2507.06892)."""

    label: ClassVar = "ReMix"
    look: ClassVar = Look(9, "dash", "star-diamond")
    shifts_clip_range: ClassVar = True
    reuses_groups: ClassVar = True
    steerable: ClassVar = ("v",)

    type: Literal["remix"] = "remix"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    reused_share: Annotated[float, Field(ge=0, lt=1)] = 0.4
    """Share p of the training batch that comes from the buffer; only the rest is rolled out."""
    updates_per_batch: Annotated[int, Field(ge=1, le=100)] = 2
    """Passes m over each training batch: the update-to-data ratio."""
    reincarnation_step: Annotated[int, Field(ge=1, le=10_000_000)] | None = 50
    """Last step T of mixed training; after it every batch is fresh, current and used once. Empty: mixed to the end."""
    kl_base_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """λ: share of the KL penalty that is to the base model; the rest is to the policies that generated the batch. Used
    where `loss.kl_to` is `auto`."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: no limit."""
    max_age_steps: StepInterval | None = 2
    """Steps after which a stored group is no longer reused. Empty: no limit."""

    def kl_reference_share(self) -> float:
        """Return λ of the KL-convex constraint."""
        return self.kl_base_share
