"""RePO."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method.base import Look, MethodSection
from bapo.config.method.fields import Capacity, StepInterval


class RepoConfig(MethodSection):
    """RePO: each prompt's fresh group is joined by earlier responses of the prompt (arXiv:2506.09340)."""

    label: ClassVar = "RePO"
    look: ClassVar = Look(4, "solid", "star-square")
    reuses_groups: ClassVar = True
    steerable: ClassVar = ("v",)

    type: Literal["repo"] = "repo"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    strategy: Literal["full", "recency", "reward", "variance"] = "reward"
    """Stored responses of the prompt that are retrieved: all, the newest, correct ones first, or those whose rewards
    vary most."""
    retrieved_responses: Annotated[int, Field(ge=1, le=1024)] = 8
    """Maximum number of stored responses retrieved per prompt; `full` takes all."""
    groups_per_prompt: Capacity = 2
    """Past groups stored per prompt."""
    min_groups: Capacity = 1
    """Past groups that a prompt must have before any of its responses is retrieved."""
    off_policy_weight: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Weight λ of the retrieved responses' part of the objective; the fresh responses' part has weight 1."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""
