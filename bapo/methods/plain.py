"""The common part of methods: the scheduled prompts, one round, every fresh group, no buffers, one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bapo.config.method import DelayedSection, MethodSection
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import (
    CHOOSE,
    ROLL_OUT,
    UPDATE,
    Line,
    Rule,
    WalkedStep,
    chosen_line,
    reused_line,
    roll_out_line,
    sync_line,
    update_line,
)
from bapo.records import BufferState, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem
from bapo.thresholds import MeanAccuracy


class PlainMethod:
    """Base of methods; a subclass names its config class and overrides what differs."""

    config_class: ClassVar[type[MethodSection]]
    """Class of the method's section in a config."""
    rolls_out: ClassVar[Rule] = ROLL_OUT
    """Rule in words by which prompts are chosen and answered."""
    chooses: ClassVar[Rule] = CHOOSE
    """Rule in words by which fresh groups are chosen for training."""
    updates: ClassVar[Rule] = UPDATE
    """Rule in words by which the batch updates the policy."""

    _method: MethodSection
    """The method's section; a subclass narrows the type."""

    def __init__(self, config: RunConfig | None = None) -> None:
        """Apply the config. None: a subclass does."""
        self._mean_accuracy = MeanAccuracy()
        self._fresh: Sequence[RolloutGroup] = ()
        self._sync_interval = 1
        if config is not None:
            self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        assert isinstance(config.method, self.config_class)
        self._method = config.method
        self._sync_interval = config.method.v if isinstance(config.method, DelayedSection) else 1
        self._batch_size = config.training.batch_size
        self._seed = config.training.seed

    def syncs_rollout_policy(self, step: int) -> bool:
        return step % self._sync_interval == 0

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        return scheduled

    def wants_more_prompts(self, step: int, fresh: Sequence[RolloutGroup]) -> bool:
        return False

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        self._fresh = fresh

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        return ()

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            composition.train_on_fresh(group)
        return composition.result(self._fresh, reevaluated)

    def num_passes(self, step: int) -> int:
        return 1

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        return [
            *([sync_line(step)] if self._sync_interval > 1 else []),
            roll_out_line(step, self.rolls_out),
            chosen_line(step, self.chooses),
            # A third-party method may train on stored groups without being a ReplayMethod.
            *([reused_line(step)] if step.visits(BatchSource.REUSED) else []),
            update_line(step, self.updates),
        ]

    def thresholds(self) -> ThresholdValues:
        return ThresholdValues(
            c1=None,
            c2=None,
            c3=None,
            r_tot=float(self._mean_accuracy.value),
            difficult_max_count=None,
            reusable_min_count=None,
            reusable_max_count=None,
        )

    def buffers(self, step: int) -> tuple[BufferState | None, BufferState | None]:
        return None, None

    def finish_step(self, step: int) -> None:
        self._mean_accuracy.add_step(
            sum(group.num_correct for group in self._fresh), sum(group.group_size for group in self._fresh)
        )

    def stored_groups(self) -> Sequence[RolloutGroup]:
        return ()

    def state_dict(self) -> dict[str, Any]:
        return {"mean_accuracy": self._mean_accuracy.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        self._mean_accuracy.load_state_dict(state["mean_accuracy"])
