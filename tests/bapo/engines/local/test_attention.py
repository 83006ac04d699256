from __future__ import annotations

from typing import Any

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    from bapo.engines.local.attention import grouped_attention, is_sdpa, use_grouped_attention


def module(num_key_value_groups: int) -> torch.nn.Module:
    found = torch.nn.Module()
    found.num_key_value_groups = num_key_value_groups  # type: ignore[assignment]
    return found


def states(num_shared: int, num_tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries of 6 heads, keys and values of `num_shared`, for 3 rows."""
    draws = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(3, heads, tokens, 8, generator=draws).requires_grad_()
        for heads, tokens in ((6, num_tokens), (num_shared, 9), (num_shared, 9))
    )
    return query, key, value


def mask(num_tokens: int) -> Tensor:
    """The second row begins 2 tokens late, the third 4."""
    columns = torch.arange(9)
    is_causal = columns <= torch.arange(9 - num_tokens, 9).unsqueeze(1)
    return (is_causal & (columns >= torch.tensor([0, 2, 4]).view(3, 1, 1))).unsqueeze(1)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("num_tokens", [1, 4])
@pytest.mark.parametrize("num_shared", [6, 3, 2, 1])
def test_shared_keys_give_what_copies_of_them_give(num_shared: int, num_tokens: int, is_masked: bool) -> None:
    attention_mask = mask(num_tokens) if is_masked else None
    results = []
    for attention in (grouped_attention, sdpa_attention_forward):
        query, key, value = states(num_shared, num_tokens)
        output, _ = attention(module(6 // num_shared), query, key, value, attention_mask, scaling=0.3)
        assert output.shape == (3, num_tokens, 6, 8)
        results.append([output, *torch.autograd.grad(output.square().sum(), (query, key, value))])
    torch.testing.assert_close(results[0], results[1], atol=2e-5, rtol=0)


def test_only_pytorchs_own_attention_is_replaced() -> None:
    config: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 9}
    for name, expected in (("sdpa", True), ("eager", False)):
        model = LlamaForCausalLM._from_config(LlamaConfig(**config), attn_implementation=name)
        before = model(torch.tensor([[1, 2, 3]])).logits
        use_grouped_attention(model)
        assert is_sdpa(model) is expected
        assert (model.config._attn_implementation == name) is not expected
        torch.testing.assert_close(model(torch.tensor([[1, 2, 3]])).logits, before)
        # A saved model is one for everybody.
        assert "bapo" not in model.config.to_json_string()
