"""ReLIFT: reinforcement learning interleaved with online fine-tuning on the hardest questions (arXiv:2506.07527)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bapo.config.method import Look, MethodSection
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.grpo import Grpo
from bapo.methods.lines import Rule
from bapo.rollout import RolloutGroup


class ReliftConfig(MethodSection):
    """ReLIFT: GRPO, with supervised steps on worked solutions of unsolved prompts (arXiv:2506.07527)."""

    label: ClassVar = "ReLIFT"
    look: ClassVar = Look(16, "dashdot", "star-diamond-open")
    is_on_policy: ClassVar = True
    needs_demonstrations: ClassVar = True
    is_replayable: ClassVar = True

    type: Literal["relift"] = "relift"
    supervised_batch_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Demonstrations of one supervised step, which follows the update once as many wait. Empty: the training batch size
    B."""


class Relift(Grpo):
    """Trains on every fresh group; the demonstrations of all-wrong groups wait for a supervised step, newest first."""

    config_class: ClassVar = ReliftConfig
    _method: ReliftConfig
    updates: ClassVar[Rule] = Rule(
        "Update the policy; then take a supervised step if enough worked solutions wait.",
        "What no response solves has no gradient: its worked solution is learned from instead.",
    )

    def __init__(self, config: RunConfig) -> None:
        self._waiting: list[str] = []
        super().__init__(config)

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        unsolved = [group.prompt_id for group in fresh if group.has_demonstration and not group.num_correct]
        self._waiting = list(dict.fromkeys([*unsolved, *self._waiting]))

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        batch, size = super().compose(step, reevaluated), self._method.supervised_batch_size or self._batch_size
        if len(self._waiting) < size:
            return batch
        taken, self._waiting = self._waiting[:size], self._waiting[size:]
        return replace(batch, supervised=taken)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "waiting": self._waiting}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._waiting = list(state["waiting"])
