"""A toy model with random weights: large enough for every path, small enough for every test."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedModel, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    from bapo.engines.local import padding
    from bapo.engines.local.payload import GroupPayload
    from bapo.engines.local.sampling import SampledGroup

VOCABULARY = ["<pad>", "<eos>", "<unk>", *(str(number) for number in range(10)), "+", "-", "*", "/", "(", ")", "="]


def make_toy_model(seed: int = 0) -> PreTrainedModel:
    """Two layers with grouped-query attention; the large initial weights make its distributions uneven."""
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=24,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.3,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    return Qwen2ForCausalLM(config).eval()


def make_toy_tokenizer() -> PreTrainedTokenizerFast:
    """One token per character, with a small chat template."""
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(VOCABULARY)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split("", "isolated")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        chat_template="{% for message in messages %}={{ message['content'] }}={% endfor %}",
    )


@pytest.fixture(params=["cpu", "cuda"])
def padding_as_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts and responses padded as on each kind of device."""
    monkeypatch.setitem(padding._BUDGETS, "cpu", padding._BUDGETS[request.param])


@pytest.fixture
def toy_model() -> PreTrainedModel:
    return make_toy_model()


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model as a folder in Hugging Face format. Do not change it."""
    folder = tmp_path_factory.mktemp("toy-model")
    make_toy_model().save_pretrained(folder)
    make_toy_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def save_toy(tmp_path: Path) -> Callable[[], Path]:
    """Saves a copy of the toy model that a test may spoil."""

    def save() -> Path:
        folder = tmp_path / "model"
        make_toy_model().save_pretrained(folder)
        make_toy_tokenizer().save_pretrained(folder)
        return folder

    return save


class MakePayload(Protocol):
    """Makes a group as sampling would have left it; the log-probabilities are made up unless given."""

    def __call__(
        self,
        prompt: list[int],
        responses: list[list[int]],
        rewards: list[int],
        *,
        logprobs: list[float] | None = None,
    ) -> GroupPayload: ...


class RandomPayload(Protocol):
    """Makes a group of responses of random lengths, from 1 on."""

    def __call__(self, seed: int, *, prompt_length: int, max_length: int, rewards: list[int]) -> GroupPayload: ...


@pytest.fixture(scope="session")
def make_payload() -> MakePayload:
    def make(
        prompt: list[int],
        responses: list[list[int]],
        rewards: list[int],
        *,
        logprobs: list[float] | None = None,
    ) -> GroupPayload:
        tokens = [token for response in responses for token in response]
        values = -torch.rand(len(tokens), generator=torch.Generator().manual_seed(len(tokens)))
        if logprobs is not None:
            values = torch.tensor(logprobs)
        lengths = tuple(len(response) for response in responses)
        ended = tuple(response[-1] == 1 for response in responses)
        return GroupPayload(tuple(prompt), SampledGroup(torch.tensor(tokens), values, lengths, ended), tuple(rewards))

    return make


@pytest.fixture(scope="session")
def random_payload(make_payload: MakePayload) -> RandomPayload:
    def make(seed: int, *, prompt_length: int, max_length: int, rewards: list[int]) -> GroupPayload:
        draws = random.Random(seed)
        responses = [[*(draws.randrange(3, 24) for _ in range(draws.randrange(max_length))), 1] for _ in rewards]
        return make_payload([draws.randrange(3, 24) for _ in range(prompt_length)], responses, rewards)

    return make
