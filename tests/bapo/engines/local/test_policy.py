from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bapo.config import ConfigError
from bapo.tasks.base import Problem, Turn
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import BertConfig, BertForSequenceClassification, MambaConfig, MambaForCausalLM

    from bapo.engines.local.policy import LanguageModel, encode_problems, load_language_model, load_tokenizer


def load(folder: Path | str) -> LanguageModel:
    return load_language_model(str(folder), torch.device("cpu"))


def test_loads_weights_and_tokenizer(toy_folder: Path) -> None:
    loaded = load(toy_folder)
    assert loaded.eos_token_ids == (1,)
    assert loaded.model.dtype == torch.float32
    assert not loaded.model.training


def asked(*prompts: str) -> list[Problem]:
    return [Problem(f"p:{prompt}", "p", prompt, {}) for prompt in prompts]


def test_prompts_are_encoded_in_the_chat_template(toy_folder: Path) -> None:
    # "=" is token 19, "1" token 4, "2" token 5: the template writes "=" before and behind the message.
    assert encode_problems(load_tokenizer(str(toy_folder)), asked("12", "1")) == [[19, 4, 5, 19], [19, 4, 19]]


def test_each_message_of_a_prompt_is_in_the_chat_template(toy_folder: Path) -> None:
    turns = (Turn("user", "1"), Turn("assistant", "2"), Turn("user", "1"))
    tokenizer = load_tokenizer(str(toy_folder))
    tokenizer.chat_template = "{% for message in messages %}={{ message['content'] }}{% endfor %}"
    assert encode_problems(tokenizer, [Problem("p:1", "p", "text", {}, turns=turns)]) == [[19, 4, 19, 5, 19, 4]]


def test_messages_that_the_chat_template_rejects_are_named(toy_folder: Path) -> None:
    tokenizer = load_tokenizer(str(toy_folder))
    tokenizer.chat_template = "{{ raise_exception('System role not supported') }}"
    turns = (Turn("system", "Be brief."), Turn("user", "1"))
    with pytest.raises(ConfigError, match=r"rejects the prompts' messages \(system, user\): System role not supported"):
        encode_problems(tokenizer, [Problem("p:1", "p", "text", {}, turns=turns)])


def test_prompts_without_a_chat_template_are_plain_text(toy_folder: Path) -> None:
    tokenizer = load_tokenizer(str(toy_folder))
    tokenizer.chat_template = None
    assert encode_problems(tokenizer, asked("12")) == [[4, 5]]
    assert encode_problems(tokenizer, []) == []


def test_missing_folder_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.path = 'no/such/model': this model folder does not exist"):
        load("no/such/model")


def test_folder_without_a_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        load(tmp_path)


def test_unreadable_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="not a known model"):
        load(tmp_path)


def test_other_than_causal_models_are_refused(tmp_path: Path) -> None:
    config = BertConfig(vocab_size=24, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="BertForSequenceClassification is not a causal language model"):
        load(tmp_path)


def test_models_without_keys_and_values_are_refused(toy_folder: Path, tmp_path: Path) -> None:
    MambaForCausalLM(MambaConfig(vocab_size=24, hidden_size=16, num_hidden_layers=1)).save_pretrained(tmp_path)
    for file in toy_folder.glob("token*"):
        shutil.copy(file, tmp_path)
    with pytest.raises(ConfigError, match="'mamba' has layers without keys and values"):
        load(tmp_path)


def test_missing_weights_are_refused(save_toy: Callable[[], Path]) -> None:
    folder = save_toy()
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="the weights cannot be loaded"):
        load(folder)


def test_incomplete_weights_are_refused(save_toy: Callable[[], Path]) -> None:
    folder = save_toy()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3, "layer_types": None}))
    with pytest.raises(ConfigError, match=r"weights are missing or of the wrong shape, 'model\.layers\.2"):
        load(folder)


def test_missing_tokenizer_is_refused(save_toy: Callable[[], Path]) -> None:
    folder = save_toy()
    for file in folder.glob("token*"):
        file.unlink()
    with pytest.raises(ConfigError, match="no tokenizer can be loaded"):
        load(folder)


@pytest.mark.parametrize(("num_more", "is_refused"), [(3, False), (4, False), (5, True)])
def test_tokenizer_must_fit_the_vocabulary(save_toy: Callable[[], Path], num_more: int, is_refused: bool) -> None:
    # The toy tokenizer has 20 tokens, the model's vocabulary 24: 24 fit, 25 do not.
    folder = save_toy()
    tokenizer = load_tokenizer(str(folder))
    tokenizer.add_tokens([f"new{i}" for i in range(num_more)])
    tokenizer.save_pretrained(folder)
    if is_refused:
        with pytest.raises(ConfigError, match=r"the tokenizer has 25 tokens but the model's vocabulary only 24"):
            load(folder)
    else:
        assert len(load(folder).tokenizer) == 20 + num_more


def test_a_model_without_an_end_token_is_refused(save_toy: Callable[[], Path]) -> None:
    folder = save_toy()
    for name, field in (("tokenizer_config.json", "eos_token"), ("generation_config.json", "eos_token_id")):
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**content, field: None}))
    with pytest.raises(ConfigError, match="names an end token"):
        load(folder)


def test_a_git_lfs_pointer_is_named_with_what_fetches_the_file(save_toy: Callable[[], Path]) -> None:
    folder = save_toy()
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123\n"
    for name in ("model.safetensors", "tokenizer.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_text(pointer)
        with pytest.raises(ConfigError, match=rf"model\.path = .*{name} is a Git LFS pointer.*git lfs pull"):
            load(folder)
        (folder / name).write_bytes(whole)


@pytest.mark.parametrize("num_bytes", [0, 4, 100, -1])
def test_a_cut_file_of_weights_is_named(save_toy: Callable[[], Path], num_bytes: int) -> None:
    folder = save_toy()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:num_bytes])
    with pytest.raises(ConfigError, match=r"model\.safetensors is cut off or damaged .* download it again"):
        load(folder)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_weights_that_are_no_numbers_are_refused(save_toy: Callable[[], Path], value: str) -> None:
    folder = save_toy()
    weights = load_file(folder / "model.safetensors")
    # 1 of 24 · 32 = 768 weights.
    weights["model.embed_tokens.weight"][3, 4] = float(value)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match=r"1 of 768 weights of 'model\.embed_tokens\.weight' are NaN or infinite"):
        load(folder)


class _ForeignError(Exception):
    """As libraries define them: of no class that anybody else knows."""


@pytest.mark.parametrize(
    ("loader", "why"),
    [
        ("AutoConfig", "not a known model's"),
        ("AutoModelForCausalLM", "cannot be loaded"),
        ("AutoTokenizer", "no tokenizer"),
    ],
)
def test_whatever_a_library_raises_names_the_folder(
    toy_folder: Path, monkeypatch: pytest.MonkeyPatch, loader: str, why: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise _ForeignError("of a library")

    monkeypatch.setattr(f"bapo.engines.local.policy.{loader}.from_pretrained", fail)
    with pytest.raises(ConfigError, match=rf"model\.path = .*{why}.*of a library"):
        load(toy_folder)
