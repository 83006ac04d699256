"""Keys and values of many responses that share their prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

_BYTES_PER_TOKEN: WeakKeyDictionary[PreTrainedModel, int] = WeakKeyDictionary()
"""Bytes per token of the models measured so far."""


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer's keys and values in buffers of the final length.

    `DynamicLayer` copies everything at each new token, which costs a small model more than the rest of the forward
    pass; here a new token is written behind the others.
    """

    def __init__(self, keys: Tensor, values: Tensor, length: int) -> None:
        """Take `keys` and `values` [rows, heads, capacity, head size] whose first `length` tokens are filled."""
        super().__init__()
        self.is_initialized = True
        self._buffers = (keys, values)
        self.keys, self.values = (buffer[:, :, :length] for buffer in self._buffers)

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write the new tokens' keys and values; return those of all tokens."""
        begin = self.get_seq_length()
        end = begin + key_states.shape[-2]
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, begin:end] = states
        self.keys, self.values = (buffer[:, :, :end] for buffer in self._buffers)
        return self.keys, self.values

    def keep_rows(self, rows: Tensor) -> None:
        """Drop all rows but these, given in ascending order."""
        length = self.get_seq_length()
        for buffer in self._buffers:
            buffer[: len(rows), :, :length] = buffer[rows, :, :length]
        self._buffers = (self._buffers[0][: len(rows)], self._buffers[1][: len(rows)])
        self.keys, self.values = (buffer[:, :, :length] for buffer in self._buffers)


class GrowingCache(Cache):
    """The cache of rows that grow by one token at a time and end at different times."""

    def __init__(self, prefixes: Sequence[tuple[Cache, Tensor]], *, capacity: int) -> None:
        """Gather prompts of one or several lengths, aligned at their last token.

        `prefixes` holds caches of prompts, with the prompt [rows] that each row continues; the rows of the first cache
        come first. Tokens before a shorter prompt have to be masked.
        """
        length = max(cache.get_seq_length() for cache, _ in prefixes)
        num_rows = sum(len(rows) for _, rows in prefixes)
        self._growing: list[GrowingLayer] = []
        for index in range(len(layers_of(prefixes[0][0]))):
            parts = [keys_and_values(layers_of(cache)[index]) for cache, _ in prefixes]
            # Keys and values may differ in the size of their heads.
            buffers = [part.new_empty(num_rows, part.shape[1], capacity, part.shape[3]) for part in parts[0]]
            begin = 0
            for (_, rows), pair in zip(prefixes, parts, strict=True):
                window = slice(length - pair[0].shape[2], length)
                for buffer, part in zip(buffers, pair, strict=True):
                    # Masked tokens count zero times, which is zero only of a finite number.
                    buffer[begin : begin + len(rows), :, : window.start] = 0
                    buffer[begin : begin + len(rows), :, window] = part.index_select(0, rows)
                begin += len(rows)
            self._growing.append(GrowingLayer(buffers[0], buffers[1], length))
        super().__init__(layers=list(self._growing))

    def keep_rows(self, rows: Tensor) -> None:
        """Drop all rows but these, given in ascending order."""
        for layer in self._growing:
            layer.keep_rows(rows)


def has_attention_only(model: PreTrainedModel) -> bool:
    """Return whether all layers keep keys and values, the caches whose rows can be expanded and dropped."""
    return all(isinstance(layer, DynamicLayer) for layer in DynamicCache(config=model.config).layers)


def layers_of(cache: Cache) -> list[DynamicLayer]:
    """Return the cache's layers, all of which keep keys and values in a loaded model."""
    return cast(list[DynamicLayer], cache.layers)


def keys_and_values(layer: DynamicLayer) -> tuple[Tensor, Tensor]:
    """Return a filled layer's tensors [rows, heads, tokens, head size]."""
    assert layer.keys is not None
    assert layer.values is not None
    return layer.keys, layer.values


def expand_with_gradient(cache: Cache, rows: Tensor) -> DynamicCache:
    """Return a cache whose row i continues prompt `rows[i]`; gradients flow back to the prompt's forward pass."""
    expanded = DynamicCache()
    for index, layer in enumerate(layers_of(cache)):
        keys, values = keys_and_values(layer)
        expanded.update(keys.index_select(0, rows), values.index_select(0, rows), index)
    return expanded


def cache_bytes_per_token(model: PreTrainedModel) -> int:
    """Return bytes of keys and values per token; measured by a forward pass at a model's first call."""
    if model not in _BYTES_PER_TOKEN:
        _BYTES_PER_TOKEN[model] = _measured_bytes_per_token(model)
    return _BYTES_PER_TOKEN[model]


@torch.inference_mode()
def _measured_bytes_per_token(model: PreTrainedModel) -> int:
    cache = DynamicCache()
    token = torch.zeros(1, 1, dtype=torch.long, device=model.device)
    model(input_ids=token, past_key_values=cache, use_cache=True)
    parts = [part for layer in layers_of(cache) for part in keys_and_values(layer)]
    return sum(part.numel() * part.element_size() for part in parts)
