"""LUFFY: learning to reason under off-policy guidance (arXiv:2504.14945)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method import Look, MethodSection
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.grpo import Grpo
from bapo.methods.lines import Rule
from bapo.methods.relative import relative_advantages
from bapo.rollout import RolloutGroup


class LuffyConfig(MethodSection):
    """LUFFY: each group is joined by a worked solution of its prompt, with a shaped weight (arXiv:2504.14945)."""

    label: ClassVar = "LUFFY"
    look: ClassVar = Look(15, "dash", "star")
    is_on_policy: ClassVar = True
    needs_demonstrations: ClassVar = True
    is_replayable: ClassVar = True
    state_family: ClassVar = "grpo"

    type: Literal["luffy"] = "luffy"
    advantage: Literal["union", "on_policy"] = "union"
    """Rewards that a group's advantages are relative to. `union`, the paper's: its responses and its demonstration,
    which counts as right. `on_policy`, the released code's: its responses alone, without a division by their
    deviation."""
    gamma: Annotated[float, Field(gt=0, le=100)] = 0.1
    """γ of the weight f(π) = π/(π + γ) of a demonstration's tokens: the smaller, the more unlikely tokens count."""

    def demonstration_shaping(self) -> float:
        """Return γ."""
        return self.gamma


class Luffy(Grpo):
    """Trains on every fresh group and its prompt's demonstration; on groups without one as GRPO does."""

    config_class: ClassVar = LuffyConfig
    _method: LuffyConfig
    chooses: ClassVar[Rule] = Rule(
        "Train on every fresh group, together with the worked solution of its prompt.",
        "Where every response is wrong, the solution alone is right, so that the group has a gradient.",
    )

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            advantages = self._advantages(group)
            own, given = advantages[: group.group_size], advantages[group.group_size :]
            composition.train_on_fresh(group, advantages=own, demonstration=given[0] if given else None)
        return composition.result(self._fresh, reevaluated)

    def _advantages(self, group: RolloutGroup) -> tuple[float, ...]:
        """Return Â of the group's responses, and of its demonstration if there is one."""
        rewards = [*group.rewards, 1] if group.has_demonstration else group.rewards
        if self._method.advantage == "union":
            return relative_advantages(rewards)
        return tuple(reward - float(group.accuracy) for reward in rewards)
