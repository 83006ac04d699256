"""The tensors that the local engine keeps with a rollout group, and their form in a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from bapo.engines.local.sampling import SampledGroup


@dataclass(frozen=True, slots=True)
class GroupPayload:
    """A prompt with its sampled and verified responses."""

    prompt: tuple[int, ...]
    """Token ids."""
    sampled: SampledGroup
    rewards: tuple[int, ...]
    """0 or 1 per response."""

    def only(self, responses: Sequence[int]) -> GroupPayload:
        """Return the group with only these of its responses."""
        return GroupPayload(self.prompt, self.sampled.only(responses), tuple(self.rewards[i] for i in responses))

    def with_demonstration(self, response: Sequence[int]) -> GroupPayload:
        """Return the group with a right response that the data give, of probability 1, as its last one."""
        return GroupPayload(self.prompt, self.sampled.with_given(response), (*self.rewards, 1))


def write_payloads(file: Path, payloads: Sequence[GroupPayload]) -> None:
    """Write groups as one safetensors file, each kind of value as one long tensor with the lengths to cut it."""
    sampled = [payload.sampled for payload in payloads]
    tensors = {
        "prompt_lengths": torch.tensor([len(payload.prompt) for payload in payloads], dtype=torch.long),
        "prompts": torch.tensor([token for payload in payloads for token in payload.prompt], dtype=torch.long),
        "group_sizes": torch.tensor([len(payload.rewards) for payload in payloads], dtype=torch.long),
        "rewards": torch.tensor([reward for payload in payloads for reward in payload.rewards], dtype=torch.long),
        "lengths": torch.tensor([length for group in sampled for length in group.lengths], dtype=torch.long),
        "ended": torch.tensor([ended for group in sampled for ended in group.ended], dtype=torch.bool),
        "token_ids": _joined([group.token_ids for group in sampled], torch.long),
        "logprobs": _joined([group.logprobs for group in sampled], torch.float32),
    }
    save_file(tensors, file)


def read_payloads(file: Path) -> list[GroupPayload]:
    """Return the groups that `write_payloads` wrote, in their order."""
    tensors = load_file(file)
    group_sizes = tensors["group_sizes"].tolist()
    prompts = torch.split(tensors["prompts"], tensors["prompt_lengths"].tolist())
    rewards, lengths, ended = (torch.split(tensors[name], group_sizes) for name in ("rewards", "lengths", "ended"))
    num_tokens = [int(part.sum()) for part in lengths]
    token_ids, logprobs = (torch.split(tensors[name], num_tokens) for name in ("token_ids", "logprobs"))
    return [
        GroupPayload(
            tuple(prompts[i].tolist()),
            # Cloned, so that a group that leaves its buffer does not keep all others in memory.
            SampledGroup(
                token_ids[i].clone(), logprobs[i].clone(), tuple(lengths[i].tolist()), tuple(ended[i].tolist())
            ),
            tuple(rewards[i].tolist()),
        )
        for i in range(len(group_sizes))
    ]


def _joined(parts: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    return torch.cat(list(parts)) if parts else torch.empty(0, dtype=dtype)
