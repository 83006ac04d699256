"""A toy model with random weights: large enough for every path, small enough for every test."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

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
