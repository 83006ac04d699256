"""Batches of fresh groups and a fixed share of stored ones: the common part of ReMix and DOTS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from bapo.config.run import RunConfig
from bapo.draws import generator
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.replay import StoredGroups
from bapo.rollout import BatchSource, RolloutGroup


class MixingMethod(StoredGroups):
    """Rolls out only the part of the batch that stored groups do not fill; a subclass says which groups are stored."""

    chooses: ClassVar[Rule] = Rule(
        "Train on every fresh group.",
        "Fewer prompts are rolled out than the batch has room for: stored groups fill the rest.",
    )

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        self._rollout_size = config.rollout.batch_size

    def _reused_share(self, step: int) -> Fraction:
        """Return the share of the training batch that comes from the buffer, exactly as its decimal is written."""
        raise NotImplementedError

    def _most_reused(self, step: int) -> int:
        """Return round(share·B), half up."""
        return math.floor(self._reused_share(step) * self._batch_size + Fraction(1, 2))

    def _num_fresh(self, step: int) -> int:
        """Return the number of prompts to roll out: B less those of the buffer, from 1 to the rollout batch size."""
        num_reused = min(self._most_reused(step), len(self._buffer))
        return min(max(1, self._batch_size - num_reused), self._rollout_size)

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            composition.train_on_fresh(group)
        taken = composition.prompt_ids
        candidates = [group for group in self._candidates if group.prompt_id not in taken]
        composition.count(x3_candidates=len(candidates))
        num_reused = min(len(candidates), composition.room, self._most_reused(step))
        for group in generator(self._seed, step, "reuse").sample(candidates, num_reused):
            composition.train_on(group, BatchSource.REUSED)
        return composition.result(self._fresh, reevaluated)
