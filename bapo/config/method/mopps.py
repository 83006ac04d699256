"""MoPPS."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method.base import Look, MethodSection


class MoppsConfig(MethodSection):
    """MoPPS: GRPO on the prompts whose success rate, drawn from a Beta posterior, is nearest a target (2507.04632)."""

    label: ClassVar = "MoPPS"
    look: ClassVar = Look(6, "solid", "hexagon")
    aggregation: ClassVar = "response-mean"
    is_on_policy: ClassVar = True
    chooses_prompts: ClassVar = True

    type: Literal["mopps"] = "mopps"
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """γ*: success rate that the chosen prompts should have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 8
    """Prompts drawn at random for each one that is rolled out."""
    decay: Annotated[float, Field(ge=0, le=1)] = 0.5
    """λ: weight of a prompt's earlier counts when it is answered again; 1 keeps all counts, 0 forgets them."""
    prior_strength: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """α⁰ = β⁰, both parameters of the Beta prior of a prompt; 1 is uniform."""
