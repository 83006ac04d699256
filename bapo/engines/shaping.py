"""Batches as both engines train on them: advantages other than Eq. 2's, and overlong filtering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import torch

from bapo.advantages import group_advantages, shaped_rewards
from bapo.config import RunConfig
from bapo.config.objective import LengthPenalty
from bapo.engines.base import BatchItem


class Response(Protocol):
    """A response without its tokens."""

    @property
    def reward(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def ended(self) -> bool: ...


def shaped_batch(
    batch: Sequence[BatchItem], config: RunConfig, responses_of: Callable[[BatchItem], Sequence[Response]]
) -> Sequence[BatchItem]:
    """Return the items with advantages of the configured kind, and without responses that were cut.

    Overlong filtering masks the loss of cut responses (arXiv:2503.14476, §3.4); advantages are relative to the whole
    group. Where every response of the batch was cut, one group stays, with advantages of 0.
    """
    penalty, objective = config.length_penalty, config.objective
    if penalty is None and not (objective.drops_overlong or objective.sample_deviation):
        return batch
    if config.critic is None:
        correction = int(objective.sample_deviation)
        batch = [_with_advantages(item, responses_of(item), penalty, correction) for item in batch]
    if not objective.drops_overlong:
        return batch
    kept = [_without_overlong(item, responses_of(item)) for item in batch]
    return [item for item in kept if item.num_responses] or [
        replace(batch[0], advantages=None if config.critic else (0.0,) * batch[0].num_responses)
    ]


def _with_advantages(
    item: BatchItem, responses: Sequence[Response], penalty: LengthPenalty | None, correction: int
) -> BatchItem:
    if item.advantages is not None:
        return item
    rewards = shaped_rewards([each.reward for each in responses], [each.length for each in responses], penalty)
    advantages = group_advantages(torch.tensor([rewards], dtype=torch.float32), correction=correction)
    return replace(item, advantages=tuple(advantages[0].tolist()))


def _without_overlong(item: BatchItem, responses: Sequence[Response]) -> BatchItem:
    kept = [index for index, response in enumerate(responses) if response.ended]
    positions = range(item.group.group_size) if item.responses is None else item.responses
    advantages = item.advantages
    return replace(
        item,
        responses=tuple(positions[index] for index in kept),
        advantages=None if advantages is None else tuple(advantages[index] for index in kept),
    )
