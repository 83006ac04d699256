"""GRPO (arXiv:2402.03300), and GRPO with a delayed rollout policy (arXiv:2505.22257)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bapo.config.method import GrpoDelayedConfig
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.plain import PlainMethod
from bapo.rollout import RolloutGroup


class Grpo(PlainMethod):
    """Trains once on every fresh group. Groups with equal rewards stay in: they count, without a gradient."""

    chooses: ClassVar[Rule] = Rule(
        "Train on every fresh group, once.",
        "The plain rule: nothing is filtered and nothing kept, so a group with equal rewards takes up room in vain.",
    )

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._sync_interval = config.method.v if isinstance(config.method, GrpoDelayedConfig) else 1
        self._batch_size = config.training.batch_size

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            composition.train_on_fresh(group)
        return composition.result(self._fresh, reevaluated)
