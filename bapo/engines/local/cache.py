"""Keys and values of many responses that share their prompts."""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

_BYTES_PER_TOKEN: WeakKeyDictionary[PreTrainedModel, int] = WeakKeyDictionary()
"""Bytes per token of the models measured so far."""


class GrowingLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer's keys and values in buffers of a fixed size, of which a window of columns is in use.

    `DynamicLayer` copies everything at each new token, which costs a small model more than the rest of the forward
    pass; here a new token is written behind the others.
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        """Take buffers [rows, heads, capacity, head size] that hold nothing yet."""
        super().__init__()
        self.is_initialized = True
        self.capacity: int = keys.shape[2]
        self._buffers = (keys, values)
        self.use(0, 0)

    def use(self, begin: int, end: int) -> None:
        """Set the columns in use."""
        self.begin, self.end = begin, end
        self.keys, self.values = (buffer[:, :, begin:end] for buffer in self._buffers)

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Write the new tokens' keys and values; return those of all tokens."""
        end = self.end + key_states.shape[-2]
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[:, :, self.end : end] = states
        self.use(self.begin, end)
        return keys_and_values(self)

    def admit(self, prompts: tuple[Tensor, Tensor], rows: Tensor) -> None:
        """Write the keys and values of prompts [rows, heads, tokens, head size] into these rows, up to the window's
        end."""
        for buffer, part in zip(self._buffers, prompts, strict=True):
            buffer[:, :, self.end - part.shape[2] : self.end].index_copy_(0, rows, part)

    def move(self, begin: int, end: int) -> None:
        """Set the columns in use, and move to their end what the old ones end with."""
        kept = min(end - begin, self.end - self.begin)
        for buffer in self._buffers:
            # Columns before and after may overlap.
            buffer[:, :, end - kept : end] = buffer[:, :, self.end - kept : self.end].clone()
        self.use(begin, end)

    def keep_rows(self, rows: Tensor) -> None:
        """Drop all rows but these, given in ascending order."""
        for buffer in self._buffers:
            buffer[: len(rows), :, self.begin : self.end] = buffer[rows, :, self.begin : self.end]
        self._buffers = (self._buffers[0][: len(rows)], self._buffers[1][: len(rows)])
        self.use(self.begin, self.end)


class GrowingCache(Cache):
    """The cache of rows that grow by one token at a time, end at different times, and make room for others.

    All rows end in the same column. Columns before a row's first token have to be masked.
    """

    def __init__(self, like: Cache, *, num_rows: int, capacity: int) -> None:
        """Make room for `num_rows` of `capacity` tokens each, with the heads and the number format of `like`."""
        self._growing = []
        for layer in layers_of(like):
            # Masked tokens count zero times, which is zero only of a finite number; keys and values may differ in size.
            keys, values = (
                part.new_zeros(num_rows, part.shape[1], capacity, part.shape[3]) for part in keys_and_values(layer)
            )
            self._growing.append(GrowingLayer(keys, values))
        super().__init__(layers=list(self._growing))

    def make_room(self, num_tokens: int) -> None:
        """Drop columns before the last `num_tokens`, which are as many as the longest row has or is to have.

        Rows move within the buffers only where these tokens, or one more, would not fit.
        """
        end = self._growing[0].end
        fits = num_tokens <= end and not self.is_full
        for layer in self._growing:
            if fits:
                layer.use(end - num_tokens, end)
            else:
                layer.move(0, num_tokens)

    @property
    def is_full(self) -> bool:
        """Return whether the rows have to move before another token."""
        layer = self._growing[0]
        return layer.end == layer.capacity

    def admit(self, prefix: Cache, prompts: Tensor, rows: Tensor) -> None:
        """Let row `rows[i]` continue prompt `prompts[i]` of the cache `prefix`, whose tokens there is room for."""
        for layer, source in zip(self._growing, layers_of(prefix), strict=True):
            keys, values = keys_and_values(source)
            layer.admit((keys.index_select(0, prompts), values.index_select(0, prompts)), rows)

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
