"""Decoding of many responses at once: the batch stays full while prefixes wait, each forwarded once for its rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import psutil
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from bapo.engines.local.cache import GrowingCache, cache_bytes_per_token
from bapo.engines.local.distributions import choose_tokens
from bapo.engines.local.padding import PromptBatch, no_padding, padding_budget, runs_of_similar_length
from bapo.engines.local.repetition import Repetitions, RepetitionStop

_COMPACTION_SHARE = 0.75
"""Share of unfinished rows below which the finished ones leave a batch that no prompt waits for: copying the cache
costs about as much as computing a quarter of its rows twice."""
_ADMISSION_SHARE = 1 / 8
"""Share of finished rows from which on prefixes that wait take their places: each time costs a forward pass more."""
_SPARE_SHARE = 1 / 8
"""Columns of the cache beyond those of the longest row: the rows move only when these are used up."""


class Sampling(NamedTuple):
    """Settings of `choose_tokens`, and where a response ends."""

    temperature: float
    top_p: float
    top_k: int
    eos_token_ids: Tensor
    repetition_stop: RepetitionStop | None = None


class Prefix(NamedTuple):
    """A prompt, or a prompt with the beginning of one response, that some rows continue."""

    tokens: Sequence[int]
    num_rows: int
    num_begun: int = 0
    """Tokens of the response among these."""


class Chosen(NamedTuple):
    """Tokens of responses."""

    cells: Tensor
    """Their indices among the tokens of all rows: row times the limit of tokens, plus the position in the response."""
    tokens: Tensor
    logprobs: Tensor


class DecodingBatch:
    """Rows that are decoded together, one token at a time, in the order of their prefixes.

    A place in the batch belongs to one row after another: all of a prefix's rows take the places of rows that ended.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        prefixes: Sequence[Prefix],
        uniforms: Tensor,
        sampling: Sampling,
        max_new_tokens: int,
    ) -> None:
        """Take at least one prefix, the uniform numbers of all rows [rows, tokens of a whole response], and the most
        tokens that a row gets."""
        self._model = model
        self._prefixes = prefixes
        self._uniforms = uniforms
        self._sampling = sampling
        self._limits = [min(prefix.num_begun + max_new_tokens, uniforms.shape[1]) for prefix in prefixes]
        """Tokens of a response at which its row ends, those begun with included, by prefix."""
        self._first_rows = list(accumulate((prefix.num_rows for prefix in prefixes), initial=0))
        # Those of equal length come one after another, so that they are forwarded together.
        self._waiting = deque(sorted(range(len(prefixes)), key=lambda index: (len(prefixes[index].tokens), index)))
        most_rows = max(prefix.num_rows for prefix in prefixes)
        num_places, self._capacity = self._room(most_rows)
        self._min_admitted = max(most_rows, int(_ADMISSION_SHARE * num_places))
        self._rows, self._positions, self._ends, self._prompt_lengths, self._tokens = (
            torch.zeros(num_places, dtype=torch.long, device=model.device) for _ in range(5)
        )
        """Row, position of the next token, limit of tokens, length of the prompt and newest token of each place."""
        stop = sampling.repetition_stop
        self._repetitions = None if stop is None else Repetitions(stop, num_places, model.device)
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

    def _room(self, most_rows: int) -> tuple[int, int]:
        """Return how many rows are decoded at the same time, and the columns of their cache."""
        longest = max(
            len(prefix.tokens) - prefix.num_begun + limit
            for prefix, limit in zip(self._prefixes, self._limits, strict=True)
        )
        bytes_per_column = cache_bytes_per_token(self._model)
        budget = _cache_budget_bytes(self._model)
        if len(self._uniforms) * longest * bytes_per_column <= budget:
            return len(self._uniforms), longest
        capacity = longest + int(_SPARE_SHARE * longest) + 1
        num_groups = budget // (capacity * bytes_per_column * most_rows)
        return min(max(1, num_groups) * most_rows, len(self._uniforms)), capacity

    def _admit(self) -> None:
        """Begin the rows of as many waiting prefixes as there are places for."""
        places = (~self._is_going_on).nonzero().squeeze(1)
        admitted: list[int] = []
        num_rows: list[int] = []
        while self._waiting and sum(num_rows) + self._prefixes[self._waiting[0]].num_rows <= len(places):
            admitted.append(self._waiting.popleft())
            num_rows.append(self._prefixes[admitted[-1]].num_rows)
        places = places[: sum(num_rows)]
        lengths = [len(self._prefixes[index].tokens) for index in admitted]
        device = places.device
        by_row = torch.arange(len(admitted), device=device).repeat_interleave(torch.tensor(num_rows, device=device))
        begun = [self._prefixes[index].num_begun for index in admitted]
        for values, of_admitted in (
            (self._positions, begun),
            (self._ends, [self._limits[index] for index in admitted]),
            (self._prompt_lengths, [length - each for length, each in zip(lengths, begun, strict=True)]),
        ):
            values[places] = torch.tensor(of_admitted, device=device)[by_row]
        rows = [row for index in admitted for row in range(self._first_rows[index], self._first_rows[index + 1])]
        self._rows[places] = torch.tensor(rows, device=device)
        if self._repetitions is not None:
            tokens = [self._prefixes[index].tokens for index in admitted]
            begun_with = [each[len(each) - num_begun :] for each, num_begun in zip(tokens, begun, strict=True)]
            self._repetitions.begin(places, [begun_with[index] for index in by_row.tolist()])
        self._is_going_on[places] = True
        self._num_going_on += len(places)

        runs = list(runs_of_similar_length(lengths, padding_budget(self._model).prompts))
        prefixes = [self._prefill([admitted[position] for position in run]) for run in runs]
        if self._cache is None:
            cache, logits = prefixes[0]
            self._cache = GrowingCache(cache, num_rows=len(self._rows), capacity=self._capacity)
            self._logits = logits.new_empty(len(self._rows), logits.shape[1])
        room = self._longest()
        self._cache.make_room(room)
        self._is_padded = self._is_padded or lengths[0] < room
        end = 0
        for run, (cache, logits) in zip(runs, prefixes, strict=True):
            begin, end = end, end + sum(num_rows[run.start : run.stop])
            continued = by_row[begin:end] - run.start
            self._cache.admit(cache, continued, places[begin:end])
            self._logits[places[begin:end]] = logits[continued]

    def _prefill(self, prefixes: Sequence[int]) -> tuple[DynamicCache, Tensor]:
        """Forward prefixes of similar length; return their cache and the logits after them."""
        together = PromptBatch([self._prefixes[index].tokens for index in prefixes], self._model.device)
        cache = DynamicCache()
        output = self._model(past_key_values=cache, use_cache=True, logits_to_keep=1, **together.inputs())
        return cache, output.logits[:, -1]

    def _choose(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Choose the next token of each place; return which of them belong to a response, and the three of `Chosen`."""
        settings, going_on = self._sampling, self._is_going_on
        cells = self._rows * self._uniforms.shape[1] + self._positions
        self._tokens, logprobs = choose_tokens(
            self._logits,
            self._uniforms.flatten()[cells],
            temperature=settings.temperature,
            top_p=settings.top_p,
            top_k=settings.top_k,
        )
        has_ended = torch.isin(self._tokens, settings.eos_token_ids) | (self._positions + 1 == self._ends)
        if self._repetitions is not None:
            self._repetitions.add(self._tokens)
            has_ended |= self._repetitions.have_ended()
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
        if self._repetitions is not None:
            self._repetitions.keep_rows(kept)
        places = (self._rows, self._positions, self._ends, self._prompt_lengths, self._tokens, self._is_going_on)
        self._rows, self._positions, self._ends, self._prompt_lengths, self._tokens, self._is_going_on = (
            each[kept] for each in places
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
