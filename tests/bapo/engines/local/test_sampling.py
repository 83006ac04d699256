from __future__ import annotations

import math
from collections import Counter
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
        LlamaConfig,
        LlamaForCausalLM,
        MistralConfig,
        MistralForCausalLM,
        PreTrainedModel,
    )

    from bapo.engines.local import sampling
    from bapo.engines.local.sampling import SampledGroup, choose_tokens, sample

PROMPTS = [[5, 6, 7], [8, 9, 10, 11, 12], [4, 4, 4], [6, 7, 8, 9]]


def draw(
    model: PreTrainedModel, prompts: list[list[int]] = PROMPTS, seed: int = 0, **changes: Any
) -> list[SampledGroup]:
    settings: dict[str, Any] = {
        "group_size": 6,
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": -1,
        "max_new_tokens": 10,
        "eos_token_ids": (1, 2),
    }
    return sample(model, prompts, generator=torch.Generator().manual_seed(seed), **{**settings, **changes})


def recomputed(model: PreTrainedModel, prompt: list[int], response: list[int], temperature: float = 1.0) -> Tensor:
    """Log-probabilities of a response from one forward pass over the whole sequence, without a cache."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + response]), use_cache=False).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits / temperature, -1).gather(1, torch.tensor(response).unsqueeze(1)).squeeze(1)


def same(one: list[SampledGroup], other: list[SampledGroup]) -> bool:
    return [group.responses() for group in one] == [group.responses() for group in other]


SMALL: dict[str, Any] = {"vocab_size": 24, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
GROUPED: dict[str, Any] = {**SMALL, "intermediate_size": 48, "num_key_value_heads": 2, "initializer_range": 0.3}
ARCHITECTURES = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**GROUPED)),
    # Both windows are shorter than prompt and response together.
    "mistral": lambda: MistralForCausalLM(MistralConfig(**GROUPED, sliding_window=6)),
    "gemma2": lambda: Gemma2ForCausalLM(Gemma2Config(**GROUPED, head_dim=8, sliding_window=6)),
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=24, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3)
    ),
    "bloom": lambda: BloomForCausalLM(BloomConfig(**{**SMALL, "n_layer": 2, "n_head": 4, "initializer_range": 0.3})),
}


@pytest.mark.usefixtures("padding_as_on")
def test_logprobs_agree_with_a_recompute(toy_model: PreTrainedModel) -> None:
    groups = draw(toy_model)
    lengths = set()
    for prompt, group in zip(PROMPTS, groups, strict=True):
        for response, logprobs in zip(group.responses(), torch.split(group.logprobs, list(group.lengths)), strict=True):
            lengths.add(len(response))
            # Sums in float32 depend on the shapes and on the processor: eps · |logits| of some 10 · the depth.
            torch.testing.assert_close(logprobs, recomputed(toy_model, prompt, response), atol=2e-5, rtol=0)
    assert len(lengths) > 3  # rows ended at different times, so that the batch was compacted


@pytest.mark.usefixtures("padding_as_on")
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logprobs_agree_with_a_recompute_in_other_architectures(name: str) -> None:
    torch.manual_seed(0)
    model = ARCHITECTURES[name]().eval()
    for prompt, group in zip(PROMPTS, draw(model), strict=True):
        for response, logprobs in zip(group.responses(), torch.split(group.logprobs, list(group.lengths)), strict=True):
            torch.testing.assert_close(logprobs, recomputed(model, prompt, response), atol=1e-5, rtol=0)


def test_responses_end_with_an_end_token_or_at_the_limit(toy_model: PreTrainedModel) -> None:
    ended = []
    for group in draw(toy_model):
        assert sum(group.lengths) == len(group.token_ids) == len(group.logprobs)
        for response, has_ended in zip(group.responses(), group.ended, strict=True):
            assert not {1, 2} & set(response[:-1])
            assert has_ended == (response[-1] in (1, 2))
            assert has_ended or len(response) == 10
            ended.append(has_ended)
    assert 0 < sum(ended) < len(ended)


def test_equal_generators_draw_alike(toy_model: PreTrainedModel) -> None:
    assert same(draw(toy_model, seed=3), draw(toy_model, seed=3))
    assert not same(draw(toy_model, seed=3), draw(toy_model, seed=4))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_draws_do_not_depend_on_finished_rows(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    usual = draw(toy_model)
    monkeypatch.setattr(sampling, "_COMPACTION_SHARE", share)  # never, and whenever a row has ended
    assert same(usual, draw(toy_model))


def test_draws_do_not_depend_on_the_size_of_batches(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = draw(toy_model)
    monkeypatch.setattr(sampling, "_cache_budget_bytes", lambda device: 1)  # one prompt at a time
    assert same(usual, draw(toy_model))


def test_first_prompts_draw_alike_alone(toy_model: PreTrainedModel) -> None:
    assert same(draw(toy_model)[:1], draw(toy_model, PROMPTS[:1]))


def test_no_prompts_give_no_groups(toy_model: PreTrainedModel) -> None:
    assert draw(toy_model, []) == []


def test_logprobs_are_those_at_the_temperature(toy_model: PreTrainedModel) -> None:
    group = draw(toy_model, temperature=0.5)[0]
    expected = recomputed(toy_model, PROMPTS[0], group.responses()[0], temperature=0.5)
    torch.testing.assert_close(group.logprobs[: group.lengths[0]], expected, atol=5e-6, rtol=0)


def test_greedy_responses_take_the_most_probable_token(toy_model: PreTrainedModel) -> None:
    group = draw(toy_model, temperature=0.0, group_size=1)[1]
    (response,) = group.responses()
    logits = toy_model(input_ids=torch.tensor([PROMPTS[1] + response])).logits[0, len(PROMPTS[1]) - 1 : -1]
    assert response == logits.argmax(-1).tolist()
    torch.testing.assert_close(group.logprobs, recomputed(toy_model, PROMPTS[1], response), atol=5e-6, rtol=0)


@pytest.mark.parametrize(
    ("uniform", "token"), [(0.0, 0), (0.2499, 0), (0.2501, 1), (0.7499, 1), (0.7501, 3), (1 - 2**-53, 3)]
)
def test_token_is_the_first_whose_cumulative_probability_exceeds_the_uniform(uniform: float, token: int) -> None:
    # Probabilities 1/4, 1/2, 0, 1/4 accumulate to 1/4, 3/4, 3/4, 1; the impossible token 2 is never drawn.
    logits = torch.tensor([[math.log(0.25), math.log(0.5), -math.inf, math.log(0.25)]])
    tokens, logprobs = choose_tokens(logits, torch.tensor([uniform], dtype=torch.float64), temperature=1.0)
    assert tokens.tolist() == [token]
    torch.testing.assert_close(logprobs, logits[:, token], atol=1e-6, rtol=0)


def test_frequencies_follow_the_probabilities() -> None:
    # 20,000 draws of p = 1/8: standard deviation sqrt(p(1-p)/n) = 0.0023; of 1/2: 0.0035; of 3/8: 0.0034.
    logits = torch.tensor([1 / 8, 1 / 2, 3 / 8]).log().expand(20_000, 3)
    uniforms = torch.rand(20_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    counts = Counter(choose_tokens(logits, uniforms, temperature=1.0)[0].tolist())
    assert [counts[token] / 20_000 for token in range(3)] == pytest.approx([1 / 8, 1 / 2, 3 / 8], abs=0.01)


def reachable(**settings: Any) -> list[int]:
    logits = torch.tensor([0.1, 0.4, 0.2, 0.3]).log().expand(400, 4)
    uniforms = torch.linspace(0, 1 - 1e-9, 400, dtype=torch.float64)
    return sorted(set(choose_tokens(logits, uniforms, temperature=1.0, **settings)[0].tolist()))


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"top_k": -1}, [0, 1, 2, 3]),
        ({"top_k": 1}, [1]),
        ({"top_k": 2}, [1, 3]),
        ({"top_k": 9}, [0, 1, 2, 3]),
        # In descending order 0.4, 0.7, 0.9, 1.0: the token that reaches the mass is the nucleus's last.
        ({"top_p": 0.39}, [1]),
        ({"top_p": 0.41}, [1, 3]),
        ({"top_p": 0.69}, [1, 3]),
        ({"top_p": 0.71}, [1, 2, 3]),
        # Of the three best, 0.4 + 0.3 + 0.2 = 0.9: half of that mass, 0.45, takes two.
        ({"top_k": 3, "top_p": 0.5}, [1, 3]),
    ],
)
def test_truncation_leaves_the_most_probable(settings: dict[str, Any], tokens: list[int]) -> None:
    assert reachable(**settings) == tokens


def test_stored_logprobs_are_those_before_truncation() -> None:
    # Token 1 alone is left and is sampled with certainty; stored is log 0.4, as π_θ is evaluated too.
    logits = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()
    _, logprobs = choose_tokens(logits, torch.tensor([0.5], dtype=torch.float64), temperature=1.0, top_k=1)
    assert logprobs.tolist() == pytest.approx([math.log(0.4)], abs=1e-6)
