"""Decoding of many responses at once: the batch stays full while prompts wait, each forwarded once for its group."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import psutil
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.engines.local.cache import GrowingCache, cache_bytes_per_token
from bapo.engines.local.distributions import choose_tokens
from bapo.engines.local.padding import PromptBatch, no_padding, padding_budget, runs_of_similar_length

_COMPACTION_SHARE = 0.75
"""Share of unfinished rows below which the finished ones leave a batch that no prompt waits for: copying the cache
costs about as much as computing a quarter of its rows twice."""
_ADMISSION_SHARE = 1 / 8
"""Share of finished rows from which on prompts that wait take their places: each time costs a forward pass more."""
_SPARE_SHARE = 1 / 8
"""Columns of the cache beyond those of the longest row: the rows move only when these are used up."""


class Sampling(NamedTuple):
    """Settings of `choose_tokens`, and where a response ends."""

    temperature: float
    top_p: float
    top_k: int
    eos_token_ids: Tensor


class Chosen(NamedTuple):
    """Tokens of responses."""

    cells: Tensor
    """Their indices among the tokens of all rows: row times the limit of tokens, plus the position in the response."""
    tokens: Tensor
    logprobs: Tensor


class DecodingBatch:
    """Rows that are decoded together, one token at a time; row `i * group_size + j` is response j to prompt i.

    A place in the batch belongs to one row after another: all of a prompt's rows take the places of rows that ended.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        prompts: Sequence[Sequence[int]],
        uniforms: Tensor,
        sampling: Sampling,
    ) -> None:
        """Take at least one prompt, and the uniform numbers of all rows [rows, tokens]."""
        self._model = model
        self._prompts = prompts
        self._uniforms = uniforms
        self._sampling = sampling
        self._group_size = len(uniforms) // len(prompts)
        # Those of equal length come one after another, so that they are forwarded together.
        self._waiting = deque(sorted(range(len(prompts)), key=lambda index: (len(prompts[index]), index)))
        num_places, self._capacity = self._room()
        self._min_admitted = max(self._group_size, int(_ADMISSION_SHARE * num_places))
        self._rows, self._positions, self._prompt_lengths, self._tokens = (
            torch.zeros(num_places, dtype=torch.long, device=model.device) for _ in range(4)
        )
        """Row, position of the next token, length of the prompt and newest token of each place."""
        self._is_going_on = torch.zeros(num_places, dtype=torch.bool, device=model.device)
        self._num_going_on = 0
        self._is_padded = False
        self._cache: GrowingCache | None = None
        self._logits = torch.empty(0)

    def decode(self) -> Chosen:
        """Return the tokens of all responses, on the CPU."""
        chosen = []
        self._admit()
        while self._num_going_on:
            chosen.append(self._choose())
            if self._waiting:
                if self._num_going_on:
                    self._forward()
                if len(self._rows) - self._num_going_on >= self._min_admitted:
                    self._admit()
            elif self._num_going_on:
                if self._num_going_on <= _COMPACTION_SHARE * len(self._rows):
                    self._drop_ended()
                self._forward()
        # All at once: a GPU waits for each copy, and for each selection.
        is_kept, *parts = (torch.cat(parts) for parts in zip(*chosen, strict=True))
        return Chosen(*(part[is_kept].cpu() for part in parts))

    def _room(self) -> tuple[int, int]:
        """Return how many rows are decoded at the same time, and the columns of their cache."""
        longest = len(self._prompts[self._waiting[-1]]) + self._uniforms.shape[1]
        bytes_per_column = cache_bytes_per_token(self._model) * self._group_size
        budget = _cache_budget_bytes(self._model)
        if len(self._prompts) * longest * bytes_per_column <= budget:
            return len(self._uniforms), longest
        capacity = longest + int(_SPARE_SHARE * longest) + 1
        num_groups = budget // (capacity * bytes_per_column)
        return min(max(1, num_groups), len(self._prompts)) * self._group_size, capacity

    def _admit(self) -> None:
        """Begin the rows of as many waiting prompts as there are places for."""
        places = (~self._is_going_on).nonzero().squeeze(1)
        num_admitted = min(len(self._waiting), len(places) // self._group_size)
        admitted = [self._waiting.popleft() for _ in range(num_admitted)]
        places = places[: num_admitted * self._group_size].view(num_admitted, self._group_size)
        lengths = [len(self._prompts[index]) for index in admitted]
        device = places.device
        first_rows = torch.tensor(admitted, device=device).unsqueeze(1) * self._group_size
        self._rows[places] = first_rows + torch.arange(self._group_size, device=device)
        self._positions[places] = 0
        self._prompt_lengths[places] = torch.tensor(lengths, device=device).unsqueeze(1)
        self._is_going_on[places] = True
        self._num_going_on += places.numel()

        runs = list(runs_of_similar_length(lengths, padding_budget(self._model).prompts))
        prefixes = [self._prefill([admitted[position] for position in run]) for run in runs]
        if self._cache is None:
            cache, logits = prefixes[0]
            self._cache = GrowingCache(cache, num_rows=len(self._rows), capacity=self._capacity)
            self._logits = logits.new_empty(len(self._rows), logits.shape[1])
        room = self._longest()
        self._cache.make_room(room)
        self._is_padded = self._is_padded or lengths[0] < room
        for run, (cache, logits) in zip(runs, prefixes, strict=True):
            prompts = torch.arange(len(run), device=device).repeat_interleave(self._group_size)
            their_places = places[run.start : run.stop].flatten()
            self._cache.admit(cache, prompts, their_places)
            self._logits[their_places] = logits[prompts]

    def _prefill(self, prompts: Sequence[int]) -> tuple[DynamicCache, Tensor]:
        """Forward prompts of similar length; return their cache and the logits after them."""
        together = PromptBatch([self._prompts[index] for index in prompts], self._model.device)
        cache = DynamicCache()
        output = self._model(past_key_values=cache, use_cache=True, logits_to_keep=1, **together.inputs())
        return cache, output.logits[:, -1]

    def _choose(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Choose the next token of each place; return which of them belong to a response, and the three of `Chosen`."""
        settings, going_on = self._sampling, self._is_going_on
        limit = self._uniforms.shape[1]
        cells = self._rows * limit + self._positions
        self._tokens, logprobs = choose_tokens(
            self._logits,
            self._uniforms.flatten()[cells],
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
        )
        has_ended = torch.isin(self._tokens, settings.eos_token_ids) | (self._positions + 1 == limit)
        self._is_going_on = going_on & ~has_ended
        self._num_going_on = int(self._is_going_on.sum())
        self._positions += self._is_going_on
        return going_on, cells, self._tokens, logprobs

    def _forward(self) -> None:
        """Forward the tokens chosen; those of rows that ended as well, which is cheaper than to take them out."""
        assert self._cache is not None
        if self._cache.is_full:
            # The tokens chosen last are not in the cache yet.
            self._cache.make_room(self._longest() - 1)
        inputs = {}
        # Without a mask attention is faster.
        if self._is_padded:
            num_columns = self._cache.get_seq_length() + 1
            lengths = (self._prompt_lengths + self._positions).unsqueeze(1)
            inputs = {"attention_mask": no_padding(lengths, num_columns, 0), "position_ids": lengths - 1}
        self._logits = self._model(
            input_ids=self._tokens.unsqueeze(1), past_key_values=self._cache, use_cache=True, logits_to_keep=1, **inputs
        ).logits[:, -1]

    def _longest(self) -> int:
        """Return the length of the longest unfinished row, including its prompt."""
        return int((self._prompt_lengths + self._positions)[self._is_going_on].max())

    def _drop_ended(self) -> None:
        assert self._cache is not None
        kept = self._is_going_on.nonzero().squeeze(1)
        self._cache.keep_rows(kept)
        self._rows, self._positions, self._prompt_lengths, self._tokens, self._is_going_on = (
            each[kept] for each in (self._rows, self._positions, self._prompt_lengths, self._tokens, self._is_going_on)
        )


def _cache_budget_bytes(model: PreTrainedModel) -> int:
    """Return the most memory for keys and values.

    A forward pass reads all weights and all keys and values: with four times as many of these, a larger batch is hardly
    faster, and on a CPU neither are more than 64 MiB of a small model's. At most a quarter of the memory there is.
    """
    if model.device.type == "cuda":
        return torch.cuda.get_device_properties(model.device).total_memory // 4
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    return max(64 * 2**20, min(4 * weights, psutil.virtual_memory().total // 4))
