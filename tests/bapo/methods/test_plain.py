"""What methods share, and the ways in which a package's method may build on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bapo.buffers import HighQualityBuffer
from bapo.config import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.grpo import GrpoDelayedConfig
from bapo.methods.plain import PlainMethod
from bapo.methods.replay import ReplayMethod
from bapo.rollout import BatchSource, RolloutGroup
from tests.bapo.methods.replaying import config, group, take_step

DELAYED = config({"type": "grpo_delayed", "v": 3}, batch_size=2)


class Plainest(PlainMethod):
    """Only what a method must say."""

    config_class: ClassVar = GrpoDelayedConfig


class Stacking(ReplayMethod[HighQualityBuffer]):
    """Reads its config in a `reconfigure` of its own, and trains on the newest stored group first."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__(HighQualityBuffer(4, None))
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._size = config.training.batch_size

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._size)
        for stored in self._buffer.groups()[-1:]:
            composition.train_on(stored, BatchSource.REUSED)
        for fresh in self._fresh:
            composition.train_on_fresh(fresh)
            self._buffer.put(fresh)
        return composition.result(self._fresh, reevaluated)


def test_a_method_trains_on_every_fresh_group_that_the_batch_has_room_for() -> None:
    method = Plainest(DELAYED)
    batch = take_step(method, 1, [group(name, "0110", 1) for name in "abc"])
    assert [item.group.prompt_id for item in batch.items] == ["a", "b"]
    assert [visit.reason for visit in batch.visits] == [None, None, "no_room"]


def test_a_section_with_a_sync_interval_delays_the_rollout_policy() -> None:
    method = Plainest(DELAYED)
    assert [step for step in range(1, 7) if method.syncs_rollout_policy(step)] == [3, 6]
    method.reconfigure(config({"type": "grpo_delayed", "v": 2}))
    assert [step for step in range(1, 7) if method.syncs_rollout_policy(step)] == [2, 4, 6]


def test_a_method_may_read_its_config_itself() -> None:
    method = Stacking(DELAYED)
    take_step(method, 1, [group("a", "0110", 1)])
    batch = take_step(method, 2, [group("b", "0110", 2), group("c", "0110", 2)])
    assert [(item.group.prompt_id, item.source) for item in batch.items] == [
        ("a", BatchSource.REUSED),
        ("b", BatchSource.FRESH),
    ]
    assert all(method.syncs_rollout_policy(step) for step in (1, 2, 3))
