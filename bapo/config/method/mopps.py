"""MoPPS."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.section import Section


class MoppsConfig(Section):
    """MoPPS: GRPO on the prompts whose success rate, drawn from a Beta posterior, is nearest a target (2507.04632)."""

    type: Literal["mopps"] = "mopps"
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Success rate that the chosen prompts shall have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 4
    """Candidate prompts per prompt rolled out."""
    decay: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Weight of earlier counts when a prompt is answered anew; 1 forgets nothing."""
    prior_strength: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """Both parameters of the Beta prior."""
