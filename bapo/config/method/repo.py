"""RePO."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.method.fields import Capacity, StepInterval
from bapo.config.section import Section


class RepoConfig(Section):
    """RePO: each prompt's fresh group is joined by responses of its own past (arXiv:2506.09340)."""

    type: Literal["repo"] = "repo"
    v: StepInterval = 1
    """Rollout sync interval v: steps between two copies of the trained weights to the rollout policy α."""
    strategy: Literal["full", "recency", "reward", "variance"] = "recency"
    """Which stored responses of the prompt are retrieved."""
    retrieved_responses: Annotated[int, Field(ge=1, le=1024)] = 8
    """Most stored responses retrieved per prompt; `full` takes all."""
    groups_per_prompt: Capacity = 4
    """Past groups held per prompt."""
