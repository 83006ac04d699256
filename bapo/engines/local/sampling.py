"""Sampling of response groups: batched, with a KV cache, the prompt's forward pass shared by its group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.engines.local.cache import GrowingCache, cache_bytes_per_token
from bapo.engines.local.padding import PromptBatch, no_padding, padding_budget, runs_of_similar_length

_COMPACTION_SHARE = 0.75
"""Share of unfinished rows below which the finished ones leave the batch: copying the cache costs about as much as
computing a quarter of its rows twice."""


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
    """True if the response ended by itself, not at the token limit."""

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

    def responses(self) -> list[list[int]]:
        """Return the token ids of each response."""
        return [part.tolist() for part in torch.split(self.token_ids, list(self.lengths))]

    def logprob_sums(self) -> list[float]:
        """Return the log-probability of each whole response."""
        return [float(part.sum()) for part in torch.split(self.logprobs, list(self.lengths))]


@torch.inference_mode()
def sample(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    *,
    group_size: int,
    temperature: float,
    top_p: float,
    top_k: int,
    max_new_tokens: int,
    eos_token_ids: Sequence[int],
    generator: torch.Generator,
) -> list[SampledGroup]:
    """Draw `group_size` responses to each prompt (token ids, none empty); greedy ones where `temperature` is 0.

    The log-probabilities are those of softmax(logits / T) before top-p and top-k: with top_p = 1 and top_k = -1 the
    distribution that was sampled from, and else the one whose ratio to π_θ, evaluated the same way, is 1 on policy.
    Greedy responses carry those at T = 1.

    Each token has its own uniform number, drawn beforehand from `generator` (a CPU one) and turned into a token by the
    inverse of the distribution function, so that no draw depends on what else is in the batch or has ended.
    """
    num_rows = len(prompts) * group_size
    uniforms = torch.rand(num_rows, max_new_tokens, generator=generator, dtype=torch.float64).to(model.device)
    batch = _Batch(
        model,
        uniforms,
        torch.zeros(num_rows, max_new_tokens, dtype=torch.long),
        torch.zeros(num_rows, max_new_tokens),
        torch.tensor(eos_token_ids, device=model.device),
        temperature,
        top_p,
        top_k,
    )
    for chunk in _chunks(prompts, group_size, max_new_tokens, model):
        batch.fill(chunk, prompts, group_size)
    return _collect(batch, len(prompts), group_size)


def choose_tokens(
    logits: Tensor, uniforms: Tensor, *, temperature: float, top_p: float = 1.0, top_k: int = -1
) -> tuple[Tensor, Tensor]:
    """Return tokens for logits [rows, vocabulary] and uniform numbers [rows], with their log-probabilities at T.

    The token is the first whose cumulative probability exceeds the uniform number.
    """
    logprobs = log_distributions(logits, temperature or 1.0)
    if temperature == 0:
        tokens = logprobs.argmax(dim=-1)
    else:
        cumulative = _truncated(logprobs, top_p, top_k).cumsum(dim=-1, dtype=torch.float64)
        thresholds = uniforms * cumulative[:, -1]
        tokens = torch.searchsorted(cumulative, thresholds.unsqueeze(1), right=True).squeeze(1)
        # A threshold that rounds up to the total lies past the last token.
        tokens = tokens.clamp_(max=logits.shape[-1] - 1)
    return tokens, logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def log_distributions(logits: Tensor, temperature: float) -> Tensor:
    """Return log softmax(logits / T) over the last dimension; in float32 for bfloat16."""
    if logits.dtype == torch.bfloat16:
        logits = logits.float()
    # A division by 1 would copy the largest tensor of all for nothing.
    return torch.log_softmax(logits if temperature == 1 else logits / temperature, dim=-1)


def _truncated(logprobs: Tensor, top_p: float, top_k: int) -> Tensor:
    """Return probabilities, unnormalised, with zeros outside the k most probable and outside the nucleus."""
    probabilities = logprobs.exp()
    vocabulary = logprobs.shape[-1]
    if top_k in (-1, 0) and top_p >= 1:
        return probabilities
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k not in (-1, 0):
        ordered[:, min(top_k, vocabulary) :] = 0
    # The nucleus ends with the token that reaches the mass; its share counts within what top-k left.
    mass_before = ordered.cumsum(dim=-1) - ordered
    ordered[mass_before >= top_p * ordered.sum(dim=-1, keepdim=True)] = 0
    return torch.zeros_like(probabilities).scatter_(1, order, ordered)


@dataclass(slots=True)
class _Batch:
    """The responses of one call; row `i * group_size + j` is response j to prompt i."""

    model: PreTrainedModel
    uniforms: Tensor
    token_ids: Tensor
    """On the CPU, as are the log-probabilities."""
    logprobs: Tensor
    eos_token_ids: Tensor
    temperature: float
    top_p: float
    top_k: int

    def fill(self, chunk: Sequence[int], prompts: Sequence[Sequence[int]], group_size: int) -> None:
        """Decode the rows of these prompts, given in order of their length."""
        max_new_tokens = self.uniforms.shape[1]
        lengths = [len(prompts[index]) for index in chunk]
        longest = lengths[-1]
        cache, logits = self._prefill(chunk, prompts, group_size, longest + max_new_tokens)
        device = logits.device
        rows = torch.tensor([index * group_size + j for index in chunk for j in range(group_size)], device=device)
        uniforms = self.uniforms[rows]
        prompt_lengths = torch.tensor(lengths, device=device).repeat_interleave(group_size).unsqueeze(1)
        is_no_padding = no_padding(prompt_lengths, longest, max_new_tokens)
        going_on = torch.ones(len(rows), dtype=torch.bool, device=device)
        chosen = []
        for position in range(max_new_tokens):
            tokens, logprobs = choose_tokens(
                logits, uniforms[:, position], temperature=self.temperature, top_p=self.top_p, top_k=self.top_k
            )
            chosen.append((rows, tokens, logprobs))
            going_on &= ~torch.isin(tokens, self.eos_token_ids)
            num_going_on = int(going_on.sum())
            if num_going_on == 0 or position + 1 == max_new_tokens:
                break
            if num_going_on <= _COMPACTION_SHARE * len(rows):
                kept = going_on.nonzero().squeeze(1)
                cache.keep_rows(kept)
                rows, uniforms, tokens, prompt_lengths, is_no_padding, going_on = (
                    part[kept] for part in (rows, uniforms, tokens, prompt_lengths, is_no_padding, going_on)
                )
            inputs = {}
            # Without a mask attention is faster.
            if lengths[0] != longest:
                inputs["attention_mask"] = is_no_padding[:, : longest + position + 1]
                inputs["position_ids"] = prompt_lengths + position
            logits = self.model(
                input_ids=tokens.unsqueeze(1), past_key_values=cache, use_cache=True, logits_to_keep=1, **inputs
            ).logits[:, -1]
        self._keep(chosen)

    def _keep(self, chosen: Sequence[tuple[Tensor, Tensor, Tensor]]) -> None:
        """Write down rows, tokens and log-probabilities of each position, all at once: a GPU waits for each copy."""
        rows, tokens, logprobs = (torch.cat(parts).cpu() for parts in zip(*chosen, strict=True))
        counts = torch.tensor([len(each) for each, _, _ in chosen])
        positions = torch.arange(len(chosen)).repeat_interleave(counts)
        self.token_ids[rows, positions] = tokens
        self.logprobs[rows, positions] = logprobs

    def _prefill(
        self, chunk: Sequence[int], prompts: Sequence[Sequence[int]], group_size: int, capacity: int
    ) -> tuple[GrowingCache, Tensor]:
        """Forward each prompt once, those of similar length together; the cache and next logits of all rows."""
        device = self.model.device
        prefixes, logits = [], []
        for run in runs_of_similar_length([len(prompts[index]) for index in chunk], padding_budget(self.model).prompts):
            together = PromptBatch([prompts[chunk[position]] for position in run], device)
            cache = DynamicCache()
            output = self.model(past_key_values=cache, use_cache=True, logits_to_keep=1, **together.inputs())
            rows = torch.arange(len(run), device=device).repeat_interleave(group_size)
            prefixes.append((cache, rows))
            logits.append(output.logits[:, -1].index_select(0, rows))
        return GrowingCache(prefixes, capacity=capacity), torch.cat(logits)


def _chunks(
    prompts: Sequence[Sequence[int]], group_size: int, max_new_tokens: int, model: PreTrainedModel
) -> Iterator[list[int]]:
    """Yield prompts in order of length, as many at once as the memory for keys and values allows."""
    order = sorted(range(len(prompts)), key=lambda index: (len(prompts[index]), index))
    budget = _cache_budget_bytes(model.device) // (cache_bytes_per_token(model) * group_size) if order else 0
    chunk: list[int] = []
    for index in order:
        if chunk and (len(chunk) + 1) * (len(prompts[index]) + max_new_tokens) > budget:
            yield chunk
            chunk = []
        chunk.append(index)
    if chunk:
        yield chunk


def _cache_budget_bytes(device: torch.device) -> int:
    """Return the most memory for keys and values: larger batches are no faster on a CPU; a GPU gives a quarter of its
    memory.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory // 4
    return 64 * 2**20


def _collect(batch: _Batch, num_prompts: int, group_size: int) -> list[SampledGroup]:
    """Cut each row behind its first end token."""
    token_ids, logprobs = batch.token_ids, batch.logprobs
    is_end = torch.isin(token_ids, batch.eos_token_ids.cpu())
    ended = is_end.any(dim=1)
    lengths = torch.where(ended, is_end.int().argmax(dim=1) + 1, token_ids.shape[1])
    within = torch.arange(token_ids.shape[1]) < lengths.unsqueeze(1)
    groups = []
    for prompt in range(num_prompts):
        rows = slice(prompt * group_size, (prompt + 1) * group_size)
        groups.append(
            SampledGroup(
                token_ids[rows][within[rows]],
                logprobs[rows][within[rows]],
                tuple(lengths[rows].tolist()),
                tuple(ended[rows].tolist()),
            )
        )
    return groups
