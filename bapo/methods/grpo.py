"""GRPO (arXiv:2402.03300), and GRPO with a delayed rollout policy (arXiv:2505.22257)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.config.method import GrpoConfig, GrpoDelayedConfig
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.records import BufferState, ThresholdValues
from bapo.rollout import BatchSource, RolloutGroup
from bapo.thresholds import MeanAccuracy


class Grpo:
    """Trains once on every fresh group. Groups with equal rewards stay in: they count, without a gradient."""

    def __init__(self, config: RunConfig) -> None:
        self._mean_accuracy = MeanAccuracy()
        self._fresh: Sequence[RolloutGroup] = ()
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        assert isinstance(config.method, GrpoConfig | GrpoDelayedConfig)
        self._sync_interval = config.method.v if isinstance(config.method, GrpoDelayedConfig) else 1
        self._batch_size = config.training.batch_size

    def syncs_rollout_policy(self, step: int) -> bool:
        return step % self._sync_interval == 0

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        self._fresh = fresh

    def prompts_to_reevaluate(self, step: int) -> Sequence[str]:
        return ()

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            if composition.room:
                composition.train_on(group, BatchSource.FRESH)
            else:
                composition.leave_out(group, BatchSource.FRESH, "no_room")
        return composition.result(self._fresh, reevaluated)

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
