"""DOTS."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method.base import Look, MethodSection
from bapo.config.method.fields import Capacity, StepInterval


class DotsConfig(MethodSection):
    """DOTS: prompts chosen by predicted difficulty, with the most recent valid groups (arXiv:2506.05316)."""

    label: ClassVar = "DOTS"
    look: ClassVar = Look(11, "dot", "hexagram")
    reuses_groups: ClassVar = True
    chooses_prompts: ClassVar = True
    steerable: ClassVar = ("v",)

    type: Literal["dots"] = "dots"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """γ*: success rate that the chosen prompts should have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 8
    """Prompts drawn at random for each one that is rolled out."""
    reference_prompts: Annotated[int, Field(ge=1, le=4096)] = 256
    """K: the most recently answered prompts, whose accuracies predict those of others."""
    selection_temperature: Annotated[float, Field(gt=0, le=100)] = 1e-3
    """τ: a candidate's chance to be chosen falls e-fold per τ of distance from the target."""
    fresh_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share δ of the training batch that is rolled out in the step; the rest comes from the buffer."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: the training batch size B."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""
