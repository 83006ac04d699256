"""The training batch in parts: mini-batches of whole groups, micro-batches of bounded size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bapo.advantages import group_advantages
from bapo.draws import generator
from bapo.engines.local.padding import runs_of_similar_length
from bapo.engines.local.payload import GroupPayload
from bapo.rollout import BatchSource


@dataclass(frozen=True, slots=True, eq=False)
class TrainingGroup:
    """A group of the training batch."""

    payload: GroupPayload
    source: BatchSource
    advantages: Tensor
    """Â of each response token, on the CPU."""
    is_on_policy: bool = False
    """True if the weights before the update generated it."""
    num_given_tokens: int = 0
    """Tokens of the demonstration, which is the last response; 0 without one."""

    @property
    def num_tokens(self) -> int:
        """Response tokens."""
        return sum(self.payload.sampled.lengths)

    @property
    def num_sampled_tokens(self) -> int:
        """Response tokens but for the demonstration's."""
        return self.num_tokens - self.num_given_tokens


def training_group(
    payload: GroupPayload,
    source: BatchSource,
    advantages: tuple[float, ...] | None = None,
    *,
    is_on_policy: bool = False,
    num_given_tokens: int = 0,
) -> TrainingGroup:
    """Return the group with these advantages of its responses, or those of its rewards relative to itself (Eq. 2)."""
    if advantages is None:
        of_responses = group_advantages(torch.tensor([payload.rewards], dtype=torch.float32))[0]
    else:
        of_responses = torch.tensor(advantages)
    of_tokens = of_responses.repeat_interleave(torch.tensor(payload.sampled.lengths))
    return TrainingGroup(payload, source, of_tokens, is_on_policy, num_given_tokens)


def mini_batches(
    num_groups: int, mini_batch_size: int | None, *, seed: int, step: int, passes: int = 1
) -> list[list[int]]:
    """Return positions of the groups of each optimizer step: ⌈n / size⌉ mini-batches whose sizes differ by at most 1.

    Where there are several, the groups are shuffled, so that X1, X2 and X3 are spread over them; each pass has an
    separate order.
    """
    return [batch for index in range(passes) for batch in _one_pass(num_groups, mini_batch_size, seed, step, index)]


def _one_pass(num_groups: int, mini_batch_size: int | None, seed: int, step: int, index: int) -> list[list[int]]:
    count = math.ceil(num_groups / (mini_batch_size or num_groups))
    order = list(range(num_groups))
    if count > 1:
        generator(seed, step, f"mini_batches:{index}" if index else "mini_batches").shuffle(order)
    return [sorted(order[i * num_groups // count : (i + 1) * num_groups // count]) for i in range(count)]


def micro_batches(payloads: Sequence[GroupPayload], max_tokens: int, prompt_padding: int) -> Iterator[list[int]]:
    """Yield positions of groups with prompts of similar length, as many as `max_tokens` allows, but at least one.

    How similar: so that padding the prompts takes at most `prompt_padding` tokens.
    """
    by_length = sorted(range(len(payloads)), key=lambda position: len(payloads[position].prompt))
    prompt_lengths = [len(payloads[position].prompt) for position in by_length]
    for run in runs_of_similar_length(prompt_lengths, prompt_padding):
        micro_batch: list[int] = []
        num_tokens = 0
        for position in by_length[run.start : run.stop]:
            size = prompt_lengths[run.stop - 1] + sum(payloads[position].sampled.lengths)
            if micro_batch and num_tokens + size > max_tokens:
                yield micro_batch
                micro_batch, num_tokens = [], 0
            micro_batch.append(position)
            num_tokens += size
        yield micro_batch
