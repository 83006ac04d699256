"""Groups with rewards, and methods led through their steps, for the tests of the replay methods."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bapo.config import RunConfig, resolve
from bapo.methods import build_method
from bapo.methods.base import ComposedBatch, Method
from bapo.rollout import BatchSource, RolloutGroup


@dataclass(frozen=True)
class Payload:
    """As much of an engine's payload as methods read."""

    rewards: tuple[int, ...]


def group(prompt_id: str, rewards: str, step: int) -> RolloutGroup:
    """`group("a", "0110", 3)`: four responses of step 3, the middle ones right."""
    each = tuple(int(reward) for reward in rewards)
    return RolloutGroup(prompt_id, sum(each), len(each), step - 1, step, Payload(each))


def config(method: dict[str, Any], *, batch_size: int = 4, rollout_size: int = 4, group_size: int = 4) -> RunConfig:
    return resolve(
        {
            "method": method,
            "rollout": {"batch_size": rollout_size, "group_size": group_size},
            "training": {"steps": 99, "batch_size": batch_size},
        }
    ).config


def take_step(method: Method, step: int, fresh: Sequence[RolloutGroup]) -> ComposedBatch:
    """As the loop does it, without rolling out."""
    method.observe_fresh(step, fresh)
    batch = method.compose(step, ())
    method.finish_step(step)
    return batch


def reused(batch: ComposedBatch) -> list[tuple[str, int, tuple[int, ...] | None]]:
    """Prompt, step of generation and responses of what came from the buffer."""
    return [
        (item.group.prompt_id, item.group.step, item.responses)
        for item in batch.items
        if item.source is BatchSource.REUSED
    ]


def resumed(method: Method, settings: RunConfig) -> Method:
    """The method after a checkpoint and its restoration."""
    copy = build_method(settings)
    state = json.loads(json.dumps(method.state_dict()))
    copy.load_state_dict(state, [each.payload for each in method.stored_groups()])
    return copy
