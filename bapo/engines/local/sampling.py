"""Sampling of response groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bapo.engines.local.decoding import Chosen, DecodingBatch, Prefix, Sampling
from bapo.engines.local.repetition import RepetitionStop


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """G responses to one prompt, on the CPU, each with its end token if it has one."""

    token_ids: Tensor
    """int64 [tokens], the responses one after another."""
    logprobs: Tensor
    """float32 [tokens], natural log of the behaviour policy's probability of each token."""
    lengths: tuple[int, ...]
    """Tokens of each response."""
    ended: tuple[bool, ...]
    """True if the response ended by itself, neither at the token limit nor because it repeated itself."""

    def only(self, responses: Sequence[int]) -> SampledGroup:
        """Return only these of the responses."""
        sizes = list(self.lengths)
        token_ids, logprobs = torch.split(self.token_ids, sizes), torch.split(self.logprobs, sizes)
        return SampledGroup(
            torch.cat([token_ids[i] for i in responses]),
            torch.cat([logprobs[i] for i in responses]),
            tuple(self.lengths[i] for i in responses),
            tuple(self.ended[i] for i in responses),
        )

    def with_given(self, response: Sequence[int]) -> SampledGroup:
        """Return the group with one more response, whose tokens count as of probability 1."""
        return SampledGroup(
            torch.cat([self.token_ids, torch.tensor(response)]),
            torch.cat([self.logprobs, torch.zeros(len(response))]),
            (*self.lengths, len(response)),
            (*self.ended, True),
        )

    @classmethod
    def joined(cls, parts: Sequence[SampledGroup]) -> SampledGroup:
        """Return the responses of all parts as one group."""
        return cls(
            torch.cat([part.token_ids for part in parts]),
            torch.cat([part.logprobs for part in parts]),
            tuple(length for part in parts for length in part.lengths),
            tuple(ended for part in parts for ended in part.ended),
        )

    def responses(self) -> list[list[int]]:
        """Return the token ids of each response."""
        return [part.tolist() for part in torch.split(self.token_ids, list(self.lengths))]

    def logprob_sums(self) -> list[float]:
        """Return the log-probability of each whole response."""
        return [float(part.sum()) for part in torch.split(self.logprobs, list(self.lengths))]


def sample(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    uniforms: Tensor,
    *,
    temperature: float,
    top_p: float,
    top_k: int,
    eos_token_ids: Sequence[int],
) -> list[SampledGroup]:
    """Draw as many responses to each prompt (token ids, none empty) as `uniforms` has rows for it; greedy ones where
    `temperature` is 0.

    The log-probabilities are those of softmax(logits / T) before top-p and top-k: with top_p = 1 and top_k = -1 the
    distribution that was sampled from, and else the one whose ratio to π_θ, evaluated the same way, is 1 on policy.
    Greedy responses carry those at T = 1.

    Each token has its own uniform number, of `uniforms` [responses, most tokens of a response], turned into a token by
    the inverse of the distribution function, so that no draw depends on what else is in the batch or has ended.
    """
    if not prompts:
        return []
    group_size = len(uniforms) // len(prompts)
    return sample_segments(
        model,
        [Prefix(prompt, group_size) for prompt in prompts],
        uniforms,
        max_new_tokens=uniforms.shape[1],
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        eos_token_ids=eos_token_ids,
    )


@torch.inference_mode()
def sample_segments(
    model: PreTrainedModel,
    prefixes: Sequence[Prefix],
    uniforms: Tensor,
    *,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    top_k: int,
    eos_token_ids: Sequence[int],
    repetition_stop: RepetitionStop | None = None,
) -> list[SampledGroup]:
    """Draw at most `max_new_tokens` further tokens of each prefix's rows, of which there is at least one.

    The others of its arguments are those of `sample`: a response drawn in segments has the tokens of one drawn at once.
    """
    ends = torch.tensor(eos_token_ids, device=model.device)
    sampling = Sampling(temperature, top_p, top_k, ends, repetition_stop)
    batch = DecodingBatch(model, prefixes, uniforms.to(model.device), sampling, max_new_tokens)
    return _groups(batch.decode(), [prefix.num_rows for prefix in prefixes], uniforms.shape[1], ends.cpu())


def draw_uniforms(num_responses: int, max_new_tokens: int, generator: torch.Generator) -> Tensor:
    """Return a number from [0, 1) for each token of the responses, on the CPU as the generator is."""
    return torch.rand(num_responses, max_new_tokens, generator=generator, dtype=torch.float64)


def _groups(
    chosen: Chosen, group_sizes: Sequence[int], max_response_tokens: int, eos_token_ids: Tensor
) -> list[SampledGroup]:
    """Return the groups in order of their prefixes."""
    order = chosen.cells.argsort()
    token_ids, logprobs = chosen.tokens[order], chosen.logprobs[order].float()
    lengths = torch.bincount(chosen.cells // max_response_tokens)
    ended = torch.isin(token_ids[lengths.cumsum(0) - 1], eos_token_ids)
    by_group = [torch.split(part, list(group_sizes)) for part in (lengths, ended)]
    sizes = [int(each.sum()) for each in by_group[0]]
    # Copies: a part of a tensor would keep the whole batch in memory as long as a buffer keeps one group.
    return [
        SampledGroup(tokens.clone(), their_logprobs.clone(), tuple(each.tolist()), tuple(has_ended.tolist()))
        for tokens, their_logprobs, each, has_ended in zip(
            torch.split(token_ids, sizes), torch.split(logprobs, sizes), *by_group, strict=True
        )
    ]
