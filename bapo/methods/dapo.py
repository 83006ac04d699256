"""DAPO (arXiv:2503.14476): dynamic sampling, asymmetric clip range, penalty on long responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.errors import broken_rule
from bapo.config.method import Look, MethodSection, RunSections
from bapo.config.objective import LengthPenalty
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition, reason_left_out
from bapo.methods.lines import Rule
from bapo.methods.plain import PlainMethod
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem


class DapoConfig(MethodSection):
    """DAPO: prompts are rolled out until B groups have mixed rewards; asymmetric clip (arXiv:2503.14476)."""

    label: ClassVar = "DAPO"
    look: ClassVar = Look(2, "solid", "square")
    # §3.1.
    clip_range: ClassVar = (0.2, 0.28)
    num_updates: ClassVar = 16
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

    def length_penalty(self, max_response_tokens: int) -> LengthPenalty | None:
        if self.overlong_buffer_tokens is None:
            return None
        return LengthPenalty(max_response_tokens, self.overlong_buffer_tokens, penalty=self.overlong_penalty)


class Dapo(PlainMethod):
    """Trains on B groups with mixed rewards, and rolls out further prompts until it has them.

    s.t. 0 < |{o_i : o_i is right}| < G (arXiv:2503.14476, Eq. (11)). When the rounds run out it trains on what there
    is; groups beyond B are dropped.
    """

    config_class: ClassVar = DapoConfig
    _method: DapoConfig
    rolls_out: ClassVar[Rule] = Rule(
        "Roll out prompts, and further batches of them, until B groups have mixed rewards.",
        "A full batch of groups with a gradient is worth more rollouts; the number of rounds is limited.",
    )
    chooses: ClassVar[Rule] = Rule(
        "Keep the groups with mixed rewards, at most B of them.",
        "Where all rewards are equal, every advantage is 0 (arXiv:2503.14476, Eq. 11).",
    )

    def __init__(self, config: RunConfig) -> None:
        super().__init__(config)
        self._round_of_step = (0, 0)

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        current, rounds = self._round_of_step
        self._round_of_step = (step, rounds + 1 if current == step else 1)
        return scheduled

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        _, rounds = self._round_of_step
        return rounds < self._method.max_rounds and sum(not group.is_homogeneous for group in fresh) < self._batch_size

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            if group.is_homogeneous:
                composition.leave_out(group, BatchSource.FRESH, reason_left_out(group))
            else:
                composition.train_on_fresh(group)
        return composition.result(self._fresh, reevaluated)
