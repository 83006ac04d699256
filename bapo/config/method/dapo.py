"""DAPO."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.errors import ConfigProblem, broken_rule
from bapo.config.method.base import Look, MethodSection, RunSections, makes_one_update
from bapo.config.objective import LengthPenalty


class DapoConfig(MethodSection):
    """DAPO: prompts are rolled out until B groups have mixed rewards; asymmetric clip (arXiv:2503.14476)."""

    label: ClassVar = "DAPO"
    look: ClassVar = Look(2, "solid", "square")
    # §3.1.
    clip_range: ClassVar = (0.2, 0.28)
    filters_fresh: ClassVar = True
    is_on_policy: ClassVar = True
    has_rounds: ClassVar = True
    is_replayable: ClassVar = True
    state_family: ClassVar = "grpo"

    type: Literal["dapo"] = "dapo"
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 4
    """Maximum number of batches of prompts rolled out in one step; if they bring fewer than B groups with mixed
    rewards, the step trains on those."""
    overlong_buffer_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """L_cache: tokens before `rollout.max_response_tokens` over which the reward falls linearly. Empty: no penalty on
    length."""
    overlong_penalty: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Reward deducted from a response at the token limit, if `overlong_buffer_tokens` is set."""

    def check(self, config: RunSections) -> None:
        longest = config.rollout.max_response_tokens
        if (self.overlong_buffer_tokens or 0) > longest:
            raise broken_rule(
                "method.overlong_buffer_tokens",
                f"responses have at most {longest} tokens (rollout.max_response_tokens): give at most as many",
            )

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        """Warn about clipping that cannot act."""
        if makes_one_update(config.training):
            yield ConfigProblem(
                "training.mini_batch_size",
                config.training.mini_batch_size,
                "with one update per step every ratio is 1, so that DAPO's clip range never acts: give less "
                f"than training.batch_size, such as {max(1, config.training.batch_size // 16)} (the source makes 16 "
                "updates per step)",
            )

    def length_penalty(self, max_response_tokens: int) -> LengthPenalty | None:
        if self.overlong_buffer_tokens is None:
            return None
        return LengthPenalty(max_response_tokens, self.overlong_buffer_tokens, penalty=self.overlong_penalty)
