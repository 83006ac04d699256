"""Prompts and responses of several lengths in one forward pass: the padding that pays, and the model's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bapo.engines.local.attention import is_sdpa


class PaddingBudget(NamedTuple):
    """Padding tokens that cost about as much as one forward pass more."""

    prompts: int
    responses: int


_BUDGETS = {
    # Without padding no mask is needed, and without a mask attention is faster on a CPU.
    "cpu": PaddingBudget(prompts=0, responses=64),
    # A GPU waits for the next kernel far longer than it computes one of a small model.
    "cuda": PaddingBudget(prompts=4096, responses=4096),
}


def padding_budget(model: PreTrainedModel) -> PaddingBudget:
    """Return the padding budget of the model's device."""
    budget = _BUDGETS[model.device.type]
    # Other attention has no number for the padding before a prompt and may read nothing at all.
    return budget if is_sdpa(model) else budget._replace(prompts=0)


def runs_of_similar_length(lengths: Sequence[int], padding_tokens: int) -> Iterator[range]:
    """Yield positions of `lengths`, which are in order, in runs that need at most this much padding each."""
    begin, longest, total = 0, 0, 0
    for position, length in enumerate(lengths):
        longest, total = max(longest, length), total + length
        if longest * (position + 1 - begin) - total > padding_tokens:
            yield range(begin, position)
            begin, longest, total = position, length, length
    if lengths:
        yield range(begin, len(lengths))


class PromptBatch:
    """Prompts aligned at their last token; what is before a shorter one is masked."""

    def __init__(self, prompts: Sequence[Sequence[int]], device: torch.device) -> None:
        """Take the token ids of the prompts."""
        lengths = [len(prompt) for prompt in prompts]
        self.longest = max(lengths)
        self._is_padded = min(lengths) < self.longest
        self._lengths = torch.tensor(lengths, device=device)
        # Any token would do in place of padding.
        padded = [[0] * (self.longest - len(prompt)) + list(prompt) for prompt in prompts]
        self._token_ids = torch.tensor(padded, device=device)

    def inputs(self) -> dict[str, Tensor]:
        """Return the model's arguments for the prompts themselves."""
        inputs = {"input_ids": self._token_ids}
        if self._is_padded:
            positions = torch.arange(self.longest, device=self._lengths.device)
            positions = positions - (self.longest - self._lengths).unsqueeze(1)
            inputs |= {"attention_mask": positions >= 0, "position_ids": positions.clamp(min=0)}
        return inputs

    def inputs_after(self, token_ids: Tensor, rows: Tensor) -> dict[str, Tensor]:
        """Return the model's arguments for the tokens [rows, columns] right after these of the prompts."""
        inputs = {"input_ids": token_ids}
        if self._is_padded:
            columns = torch.arange(token_ids.shape[1], device=token_ids.device)
            lengths = self._lengths[rows].unsqueeze(1)
            inputs |= {
                "attention_mask": no_padding(lengths, self.longest, token_ids.shape[1]),
                "position_ids": lengths + columns,
            }
        return inputs


def no_padding(prompt_lengths: Tensor, longest: int, num_tokens: int) -> Tensor:
    """Mask [rows, longest + num_tokens] of prompts of `prompt_lengths` [rows, 1] with as many tokens behind each."""
    return torch.arange(longest + num_tokens, device=prompt_lengths.device) >= longest - prompt_lengths
