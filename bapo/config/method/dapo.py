"""DAPO."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bapo.config.section import Section


class DapoConfig(Section):
    """DAPO: prompts are rolled out until B groups have mixed rewards; asymmetric clip (arXiv:2503.14476)."""

    type: Literal["dapo"] = "dapo"
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 4
    """Most batches of prompts rolled out in one step; where they bring fewer than B groups with mixed rewards, the step
    trains on those."""
    overlong_buffer_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """L_cache: tokens before `rollout.max_response_tokens` over which the reward falls linearly. Empty: no penalty on
    length."""
    overlong_penalty: Annotated[float, Field(gt=0, le=100)] = 1.0
    """What the reward of a response at the token limit has lost, where `overlong_buffer_tokens` is set."""
