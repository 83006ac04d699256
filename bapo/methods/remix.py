"""ReMix on GRPO: reincarnating mix-policy proximal policy gradient (arXiv:2507.06892)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from bapo.config.method import RemixConfig
from bapo.config.run import RunConfig
from bapo.methods.lines import Rule
from bapo.methods.mixing import MixingMethod
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


class Remix(MixingMethod):
    """Up to step T: a share p of each batch from the last N steps, and m updates on it; afterwards on-policy GRPO."""

    stores: ClassVar[Rule] = Rule(
        "Store every fresh group while training is mixed.",
        "Each of the next steps may draw it again.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Take a fixed share of the batch from the last steps.",
        "Early training needs many updates more than it needs new answers (arXiv:2507.06892).",
    )

    def __init__(self, config: RunConfig) -> None:
        method = _section(config)
        super().__init__(config, capacity=method.capacity, max_age_steps=method.max_age_steps)
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._method = _section(config)
        self._sync_interval = self._method.v
        self._buffer.capacity = self._method.capacity
        self._buffer.max_age_steps = self._method.max_age_steps
        self._take_common(config)

    def _is_mixed(self, step: int) -> bool:
        """Return whether training is still mixed, before the reincarnation (t ≤ T)."""
        return self._method.reincarnation_step is None or step <= self._method.reincarnation_step

    def syncs_rollout_policy(self, step: int) -> bool:
        return not self._is_mixed(step) or super().syncs_rollout_policy(step)

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        return scheduled[: self._num_fresh(step)]

    def num_passes(self, step: int) -> int:
        return self._method.updates_per_batch if self._is_mixed(step) else 1

    def _reused_share(self, step: int) -> Fraction:
        return Fraction(str(self._method.reused_share)) if self._is_mixed(step) else Fraction(0)

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        return self._is_mixed(step)


def _section(config: RunConfig) -> RemixConfig:
    assert isinstance(config.method, RemixConfig)
    return config.method
