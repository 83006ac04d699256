"""DOTS."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.method.fields import Capacity, StepInterval
from bapo.config.section import Section


class DotsConfig(Section):
    """DOTS: prompts chosen by predicted difficulty, beside the most recent valid groups (arXiv:2506.05316)."""

    type: Literal["dots"] = "dots"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """γ*: success rate that the chosen prompts shall have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 8
    """Prompts drawn at random for each one that is rolled out."""
    reference_prompts: Annotated[int, Field(ge=1, le=4096)] = 256
    """K: prompts whose latest accuracy predicts that of others, the most recently answered ones."""
    selection_temperature: Annotated[float, Field(gt=0, le=100)] = 1e-3
    """τ: candidates are drawn with a chance that falls e-fold per τ of distance from the target."""
    fresh_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share δ of the training batch that is rolled out anew; the rest comes from the buffer."""
    capacity: Capacity | None = None
    """Groups held, one per prompt. Empty: no limit; for dots B, for arpo 256 where it replaces whole batches."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""
