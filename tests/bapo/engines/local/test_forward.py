from __future__ import annotations

from typing import Any

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor
    from transformers import (
        BloomConfig,
        BloomForCausalLM,
        Gemma2Config,
        Gemma2ForCausalLM,
        GPT2Config,
        GPT2LMHeadModel,
        MistralConfig,
        MistralForCausalLM,
        PreTrainedModel,
    )

    from bapo.engines.local import forward, padding
    from bapo.engines.local.forward import response_logprobs
    from bapo.engines.local.padding import PaddingBudget
    from bapo.engines.local.payload import GroupPayload

GROUPED: dict[str, Any] = {
    "vocab_size": 24,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "initializer_range": 0.3,
}
ARCHITECTURES = {
    # Both windows are shorter than prompt and response together.
    "mistral": lambda: MistralForCausalLM(MistralConfig(**GROUPED, sliding_window=6)),
    "gemma2": lambda: Gemma2ForCausalLM(Gemma2Config(**GROUPED, head_dim=8, sliding_window=6)),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=24, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3)
    ),
    "bloom": lambda: BloomForCausalLM(
        BloomConfig(vocab_size=24, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3)
    ),
}


def unshared(model: PreTrainedModel, groups: list[GroupPayload], temperature: float) -> tuple[Tensor, Tensor]:
    """Each response with its prompt in a forward pass of its own, without a cache."""
    logprobs, entropies = [], []
    for group in groups:
        for response in group.sampled.responses():
            sequence = torch.tensor([[*group.prompt, *response]])
            logits = model(input_ids=sequence, use_cache=False).logits[0, len(group.prompt) - 1 : -1]
            log_distributions = torch.log_softmax(logits / temperature, dim=-1)
            logprobs.append(log_distributions.gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1))
            entropies.append(torch.distributions.Categorical(logits=logits / temperature).entropy())
    return torch.cat(logprobs), torch.cat(entropies)


def gradients(model: PreTrainedModel, value: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, list(model.parameters())))


def some_groups(random_payload: Any) -> list[GroupPayload]:
    return [random_payload(seed, prompt_length=5, max_length=9, rewards=[0] * 4) for seed in range(3)]


def check(model: PreTrainedModel, groups: list[GroupPayload], temperature: float = 0.7) -> None:
    shared = response_logprobs(model, groups, temperature=temperature, entropy_gradient=True)
    reference = unshared(model, groups, temperature)
    # Bloom takes its softmax in float32 whatever the model's type is, and a sum's last digit depends on its shape.
    tolerance = 2e-6 if model.config.model_type == "bloom" else 1e-9
    torch.testing.assert_close(shared, reference, atol=tolerance, rtol=tolerance)
    mixing = torch.rand(2, len(reference[0]), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    values = [
        sum((weights * part).sum() for weights, part in zip(mixing, parts, strict=True))
        for parts in (shared, reference)
    ]
    # Norms compute in float32 whatever the model's type is.
    torch.testing.assert_close(gradients(model, values[0]), gradients(model, values[1]), atol=2e-5, rtol=1e-4)


def test_sharing_the_prompt_changes_neither_values_nor_gradients(
    toy_model: PreTrainedModel, random_payload: Any
) -> None:
    check(toy_model.double(), some_groups(random_payload))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_sharing_the_prompt_is_exact_in_other_architectures(name: str, random_payload: Any) -> None:
    torch.manual_seed(0)
    check(ARCHITECTURES[name]().eval().double(), some_groups(random_payload))


@pytest.mark.parametrize("padding_tokens", [0, 1, 10_000])
def test_padding_changes_nothing(
    toy_model: PreTrainedModel, random_payload: Any, monkeypatch: pytest.MonkeyPatch, padding_tokens: int
) -> None:
    monkeypatch.setitem(padding._BUDGETS, "cpu", PaddingBudget(prompts=0, responses=padding_tokens))
    check(toy_model.double(), some_groups(random_payload))


@pytest.mark.parametrize("name", ["qwen2", "mistral", "gemma2", "gpt2"])
def test_prompts_of_several_lengths_change_nothing(name: str, toy_model: PreTrainedModel, random_payload: Any) -> None:
    torch.manual_seed(0)
    groups = [
        random_payload(seed, prompt_length=length, max_length=9, rewards=[0] * 4)
        for seed, length in enumerate([5, 2, 11, 5])
    ]
    check((toy_model if name == "qwen2" else ARCHITECTURES[name]().eval()).double(), groups)


@pytest.mark.parametrize("name", ["qwen2", "gpt2"])
def test_forwarding_again_for_the_gradient_changes_nothing(
    name: str, toy_model: PreTrainedModel, random_payload: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(forward, "tokens_per_gradient", lambda model: 1)
    monkeypatch.setattr(forward, "tokens_per_output", lambda model: 12)
    check((toy_model if name == "qwen2" else ARCHITECTURES[name]().eval()).double(), some_groups(random_payload))


def test_responses_of_one_token_need_the_prompt_only(toy_model: PreTrainedModel, make_payload: Any) -> None:
    check(toy_model.double(), [make_payload([5, 6, 7], [[1], [1]], [0, 0])])
    check(toy_model.double(), [make_payload([5, 6, 7], [[1], [4, 1], [5, 6, 7]], [0, 0, 0])])


def test_entropies_have_no_gradient_unless_asked_for(toy_model: PreTrainedModel, random_payload: Any) -> None:
    logprobs, entropies = response_logprobs(
        toy_model, some_groups(random_payload), temperature=1.0, entropy_gradient=False
    )
    assert logprobs.requires_grad
    assert not entropies.requires_grad


@pytest.mark.parametrize(
    ("padding_tokens", "runs"),
    # 2, 2, 3 need 2 tokens of padding, and 6 more with the 5.
    [(0, [[0, 1], [2], [3]]), (2, [[0, 1, 2], [3]]), (7, [[0, 1, 2], [3]]), (8, [[0, 1, 2, 3]])],
)
def test_runs_bound_the_padding(padding_tokens: int, runs: list[list[int]]) -> None:
    assert [list(run) for run in padding.runs_of_similar_length([2, 2, 3, 5], padding_tokens)] == runs
    assert list(padding.runs_of_similar_length([], padding_tokens)) == []


@pytest.mark.parametrize(
    ("lengths", "padding_tokens", "max_tokens", "segments"),
    [
        # Sorted 5, 4, 4, 2, 1: padding 1 + 1 = 2 in the first three, 5 with the fourth; the last has nothing to read.
        ([4, 1, 5, 2, 4], 2, 99, [[2, 0, 4], [3]]),
        ([4, 1, 5, 2, 4], 1, 99, [[2, 0], [4], [3]]),
        ([4, 1, 5, 2, 4], 5, 99, [[2, 0, 4, 3]]),
        # Two rows of at most 5 tokens are 10.
        ([4, 1, 5, 2, 4], 5, 14, [[2, 0], [4, 3]]),
        ([4, 1, 5, 2, 4], 5, 4, [[2], [0], [4], [3]]),
        ([3, 3, 3], 0, 99, [[0, 1, 2]]),
        ([1, 1], 0, 99, []),
    ],
)
def test_segments_bound_padding_and_tokens(
    lengths: list[int], padding_tokens: int, max_tokens: int, segments: list[list[int]]
) -> None:
    found = forward._segments(torch.tensor(lengths), padding_tokens, max_tokens)
    assert [rows.tolist() for rows in found] == segments
