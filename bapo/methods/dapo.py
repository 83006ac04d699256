"""DAPO (arXiv:2503.14476): dynamic sampling. Its clip range is in `DapoConfig`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bapo.config.method import DapoConfig
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition, reason_left_out
from bapo.methods.lines import Rule
from bapo.methods.plain import PlainMethod
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem


class Dapo(PlainMethod):
    """Trains on B groups with mixed rewards, and rolls out further prompts until it has them.

    s.t. 0 < |{o_i : o_i is right}| < G (arXiv:2503.14476, Eq. (11)). When the rounds run out it trains on what there
    is; groups beyond B are dropped.
    """

    rolls_out: ClassVar[Rule] = Rule(
        "Roll out prompts, and further batches of them, until B groups have mixed rewards.",
        "A full batch of groups with a gradient is worth more rollouts; the number of rounds is limited.",
    )
    chooses: ClassVar[Rule] = Rule(
        "Keep the groups with mixed rewards, at most B of them.",
        "Where all rewards are equal, every advantage is 0 (arXiv:2503.14476, Eq. 11).",
    )

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self._round_of_step = (0, 0)
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        assert isinstance(config.method, DapoConfig)
        self._max_rounds = config.method.max_rounds
        self._batch_size = config.training.batch_size

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        current, rounds = self._round_of_step
        self._round_of_step = (step, rounds + 1 if current == step else 1)
        return scheduled

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        _, rounds = self._round_of_step
        return rounds < self._max_rounds and _num_mixed(fresh) < self._batch_size

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            if group.is_homogeneous:
                composition.leave_out(group, BatchSource.FRESH, reason_left_out(group))
            else:
                composition.train_on_fresh(group)
        return composition.result(self._fresh, reevaluated)


def _num_mixed(groups: Sequence[RolloutGroup]) -> int:
    return sum(not group.is_homogeneous for group in groups)
