"""Attention of models whose query heads share keys and values (arXiv:2305.13245), without a copy of these per head."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "bapo_sdpa"


def use_grouped_attention(model: PreTrainedModel) -> None:
    """Let the model compute attention by `grouped_attention` where it would by Transformers' `sdpa`."""
    if is_sdpa(model):
        model.set_attn_implementation(_NAME)


def is_sdpa(model: PreTrainedModel) -> bool:
    """Return whether attention is PyTorch's, which has a number for tokens that may read nothing at all."""
    return model.config._attn_implementation in ("sdpa", _NAME)


def grouped_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    **settings: Any,
) -> tuple[Tensor, None]:
    """Return the attention [rows, tokens, heads, head size] of queries [rows, heads, tokens, head size].

    With a mask, Transformers copies keys and values for each of the heads that share them, and decoding spends most
    of its time so. Here these heads' queries are one matrix before the shared keys.
    """
    rows, num_heads, num_tokens, size = query.shape
    num_shared = key.shape[1]
    # Products of bfloat16 would round the scores, which PyTorch's kernel keeps in float32.
    is_rounded = query.dtype == torch.bfloat16 or torch.is_autocast_enabled(query.device.type)
    is_decoding = num_tokens == 1 and query.device.type == "cpu" and not is_rounded
    if num_shared == num_heads or (attention_mask is None and not is_decoding):
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **settings)
    sharing = num_heads // num_shared
    together = query.reshape(rows, num_shared, sharing * num_tokens, size)
    if is_decoding:
        attended = _attention_of_one_token(together, key, value, attention_mask, scaling or size**-0.5)
    else:
        mask = None if attention_mask is None else attention_mask.repeat(1, 1, sharing, 1)
        attended = scaled_dot_product_attention(together, key, value, attn_mask=mask, scale=scaling)
    return attended.reshape(rows, num_heads, num_tokens, value.shape[-1]).transpose(1, 2).contiguous(), None


def _attention_of_one_token(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    """Return what `scaled_dot_product_attention` does, whose CPU kernel takes four times as long for one token."""
    scores = torch.bmm(query.flatten(0, 1) * scaling, key.flatten(0, 1).transpose(1, 2))
    scores = scores.view(*query.shape[:3], -1)
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    return torch.bmm(scores.softmax(dim=-1).flatten(0, 1), value.flatten(0, 1)).view(*query.shape[:3], -1)


AttentionInterface.register(_NAME, grouped_attention)
AttentionMaskInterface.register(_NAME, sdpa_mask)
