from __future__ import annotations

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

    from bapo.engines.local import memory
    from bapo.engines.local.memory import tokens_per_gradient, tokens_per_output


def llama(num_layers: int) -> PreTrainedModel:
    config = LlamaConfig(
        vocab_size=1000, hidden_size=64, intermediate_size=128, num_hidden_layers=num_layers, num_attention_heads=4
    )
    return LlamaForCausalLM(config)


def kept_bytes(model: PreTrainedModel) -> int:
    return memory._KEPT_BYTES // tokens_per_gradient(model)


def test_each_layer_adds_what_it_keeps_for_the_gradient() -> None:
    one, two, four = (kept_bytes(llama(number)) for number in (1, 2, 4))
    assert four - two == pytest.approx(2 * (two - one), rel=0.05)
    # Four inputs of products with 64 numbers, queries, keys and values with 64 each, and the MLP's three with 128, are
    # 832 numbers; norms, rotations and the activation keep copies in between.
    assert 832 * 4 < two - one < 4 * 832 * 4
    # The outputs' log-probabilities: 1,000 numbers.
    assert one > 4000


def test_the_number_of_outputs_follows_from_the_vocabulary() -> None:
    # A sixteenth of 2 GiB are 33,554,432 numbers.
    assert tokens_per_output(llama(1)) == 33_554


def test_measuring_leaves_no_gradient_behind() -> None:
    model = llama(1)
    with torch.no_grad():
        tokens_per_gradient(model)
    assert all(parameter.grad is None for parameter in model.parameters())
