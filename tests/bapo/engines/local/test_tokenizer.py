"""The shipped tokenizer: one token per number, few per prompt, the same after saving and loading."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.tasks.base import Problem
from tests.support.late_imports import late_imports

with late_imports():
    from transformers import AutoTokenizer, Qwen2Tokenizer

    from bapo.engines.local.policy import encode_problems
    from bapo.engines.local.tokenizer import countdown_tokenizer


def test_length_is_the_highest_id_and_one() -> None:
    tokenizer = countdown_tokenizer()
    # 256 bytes, 10 to 99, padding, end of turn, three roles.
    assert len(tokenizer) == 256 + 90 + 5
    assert max(tokenizer.get_vocab().values()) == len(tokenizer) - 1
    assert len(set(tokenizer.get_vocab().values())) == len(tokenizer)


@pytest.mark.parametrize("number", [0, 9, 10, 12, 40, 99])
def test_a_number_is_one_token(number: int) -> None:
    assert len(countdown_tokenizer().encode(str(number), add_special_tokens=False)) == 1


@pytest.mark.parametrize(
    ("text", "num_tokens"),
    [
        ("3 7 12 11=22", 9),
        ("(3+7)*12-11", 9),
        ("112", 2),  # 11, 2
        ("1234", 2),
        ("", 0),
        ("Größe: 10 x11y\n", 15),  # ö and ß are two bytes each
    ],
)
def test_text_survives(text: str, num_tokens: int) -> None:
    tokenizer = countdown_tokenizer()
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text
    assert len(ids) == num_tokens


def test_a_prompt_costs_three_tokens_more_than_its_content() -> None:
    tokenizer = countdown_tokenizer()
    three, four = encode_problems(
        tokenizer, [Problem(text, "countdown", text, {}) for text in ("3 7 12=22", "3 7 12 11=22")]
    )
    assert (len(three), len(four)) == (7 + 3, 9 + 3)
    assert tokenizer.decode(four) == "<|user|>3 7 12 11=22<|im_end|><|assistant|>"


def test_the_template_of_a_prompt_and_of_a_finished_chat_agree() -> None:
    tokenizer = countdown_tokenizer()
    chat = [{"role": "user", "content": "3 4=7"}, {"role": "assistant", "content": "4+3"}]
    prompt = tokenizer.apply_chat_template(chat[:1], tokenize=False, add_generation_prompt=True)
    assert tokenizer.apply_chat_template(chat, tokenize=False) == f"{prompt}4+3<|im_end|>"


def test_special_tokens_are_left_out_of_responses() -> None:
    tokenizer = countdown_tokenizer()
    ids = tokenizer.encode("4+12<|im_end|><|endoftext|>", add_special_tokens=False)
    assert ids[-2:] == [tokenizer.eos_token_id, tokenizer.pad_token_id]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "4+12"


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    tokenizer = countdown_tokenizer()
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert isinstance(loaded, Qwen2Tokenizer)
    assert loaded.get_vocab() == tokenizer.get_vocab()
    assert loaded.chat_template == tokenizer.chat_template
    assert (loaded.eos_token, loaded.pad_token) == ("<|im_end|>", "<|endoftext|>")
    for text in ("3 7 12 11=22", "(3+7)*12-11", "112 x", "<|user|>99<|im_end|>"):
        assert loaded.encode(text) == tokenizer.encode(text)
