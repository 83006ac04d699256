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
        LlamaConfig,
        LlamaForCausalLM,
        MistralConfig,
        MistralForCausalLM,
        PreTrainedModel,
    )

    from bapo.engines.local import decoding
    from bapo.engines.local.attention import use_grouped_attention
    from bapo.engines.local.cache import cache_bytes_per_token
    from bapo.engines.local.decoding import Prefix
    from bapo.engines.local.repetition import RepetitionStop
    from bapo.engines.local.sampling import SampledGroup, draw_uniforms, sample, sample_segments

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
        **changes,
    }
    num_responses = len(prompts) * settings.pop("group_size")
    uniforms = draw_uniforms(num_responses, settings.pop("max_new_tokens"), torch.Generator().manual_seed(seed))
    return sample(model, prompts, uniforms, **settings)


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


def room_for(num_groups: int, model: PreTrainedModel) -> int:
    """Bytes of the keys and values of so many groups of 6 rows, of at most 15 tokens and 2 to spare."""
    return num_groups * 6 * 17 * cache_bytes_per_token(model)


@pytest.mark.usefixtures("padding_as_on")
@pytest.mark.parametrize("num_groups", [1, 2, 4])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logprobs_agree_with_a_recompute_in_other_architectures(
    name: str, num_groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    model = ARCHITECTURES[name]().eval()
    use_grouped_attention(model)
    monkeypatch.setattr(decoding, "_cache_budget_bytes", lambda model: room_for(num_groups, model))
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
    monkeypatch.setattr(decoding, "_COMPACTION_SHARE", share)  # never, and whenever a row has ended
    assert same(usual, draw(toy_model))


@pytest.mark.parametrize("num_groups", [0, 1, 2, 3])
def test_draws_do_not_depend_on_the_size_of_batches(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch, num_groups: int
) -> None:
    usual = draw(toy_model)
    # At least one prompt's rows at a time.
    monkeypatch.setattr(decoding, "_cache_budget_bytes", lambda model: room_for(num_groups, model))
    assert same(usual, draw(toy_model))


def test_prompts_that_wait_take_the_places_of_ended_rows(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = PROMPTS[:1] * 12
    decoded: list[int] = []

    def note(module: object, args: object, kwargs: dict[str, Any]) -> None:
        if kwargs["input_ids"].shape[1] == 1:
            decoded.append(len(kwargs["input_ids"]))

    toy_model.register_forward_pre_hook(note, with_kwargs=True)
    cache_bytes_per_token(toy_model)
    decoded.clear()
    # Responses of 3 + 20 tokens, and 3 columns to spare: room for 4 groups of 2.
    monkeypatch.setattr(decoding, "_cache_budget_bytes", lambda model: 4 * 2 * 26 * cache_bytes_per_token(model))
    groups = draw(toy_model, prompts, group_size=2, max_new_tokens=20)
    lengths = [length for group in groups for length in group.lengths]
    assert max(decoded) == 8
    # 3 batches one after another would each take as many forward passes as their longest response has tokens, less 1.
    in_turn = sum(max(lengths[begin : begin + 8]) - 1 for begin in range(0, 24, 8))
    assert len(decoded) < in_turn
    assert groups[0].responses() == draw(toy_model, prompts[:1], group_size=2, max_new_tokens=20)[0].responses()


@pytest.mark.parametrize("num_groups", [1, 4])
def test_a_response_drawn_in_segments_has_the_tokens_of_one_drawn_at_once(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch, num_groups: int
) -> None:
    whole = draw(toy_model)
    monkeypatch.setattr(decoding, "_cache_budget_bytes", lambda model: room_for(num_groups, model))
    uniforms = draw_uniforms(24, 10, torch.Generator().manual_seed(0))
    # The first two prompts are begun, and of the others each response is continued after 1 to 6 of its tokens.
    begun = [Prefix(prompt, 6) for prompt in PROMPTS[:2]]
    rows = list(range(12))
    expected = [response[:4] for group in whole[:2] for response in group.responses()]
    for index, (prompt, group) in enumerate(zip(PROMPTS[2:], whole[2:], strict=True), start=2):
        for place, response in enumerate(group.responses()):
            if len(response) > place + 1:
                begun.append(Prefix([*prompt, *response[: place + 1]], 1, place + 1))
                rows.append(6 * index + place)
                expected.append(response[place + 1 : place + 5])
    assert len(rows) > 18
    groups = sample_segments(
        toy_model,
        begun,
        uniforms[rows],
        max_new_tokens=4,
        temperature=1.0,
        top_p=1.0,
        top_k=-1,
        eos_token_ids=(1, 2),
    )
    assert [response for group in groups for response in group.responses()] == expected
    # One that has all of its tokens has ended, or reached the limit of 10.
    assert all(
        ended == (response[-1] in (1, 2))
        for group in groups
        for response, ended in zip(group.responses(), group.ended, strict=True)
    )


@pytest.mark.parametrize("num_groups", [1, 4])
def test_a_response_ends_where_it_has_repeated_itself(
    toy_model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch, num_groups: int
) -> None:
    stop = RepetitionStop(num_tokens=12, count=3)
    uniforms = torch.zeros(len(PROMPTS), 60, dtype=torch.float64)
    settings: dict[str, Any] = {"temperature": 0.0, "top_p": 1.0, "top_k": -1, "eos_token_ids": (1, 2)}
    # The toy model's greedy responses go round in circles.
    whole = [response for group in sample(toy_model, PROMPTS, uniforms, **settings) for response in group.responses()]
    places = [
        next((end for end in range(1, 61) if stop.applies(torch.tensor(response[:end]))), len(response))
        for response in whole
    ]
    assert min(places) < 60
    monkeypatch.setattr(decoding, "_cache_budget_bytes", lambda model: room_for(num_groups, model))
    for num_begun in (0, 5):
        # Of a response that has ended nothing is continued.
        rows = [index for index, place in enumerate(places) if place > num_begun]
        groups = sample_segments(
            toy_model,
            [Prefix([*PROMPTS[index], *whole[index][:num_begun]], 1, num_begun) for index in rows],
            uniforms[rows],
            max_new_tokens=60,
            repetition_stop=stop,
            **settings,
        )
        expected = [whole[index][num_begun : places[index]] for index in rows]
        assert [response for group in groups for response in group.responses()] == expected
        assert [group.ended[0] for group in groups] == [response[-1] in (1, 2) for response in expected]


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
