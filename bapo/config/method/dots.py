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
    """Success rate that the chosen prompts shall have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 4
    """Candidate prompts per prompt rolled out."""
    fresh_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the training batch that is rolled out anew."""
    capacity: Capacity = 256
    """Groups held, first in, first out."""
