"""The tokenizer of a GGUF file, as the files of a Hugging Face folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.pretrained import PretrainedError

CONTROL, USER_DEFINED = 3, 4
"""Token types of tokens that no text spells: special ones, and added ones."""
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_PRE_TOKENIZER = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL]}
"""Split of a text before the merges that the file calls `smollm`."""


def tokenizer_files(fields: Mapping[str, Any], *, eos_token: str, pad_token: str) -> dict[str, dict[str, Any]]:
    """Return the content of `tokenizer.json` and `tokenizer_config.json`.

    Raises PretrainedError where the tokenizer is of another kind, has no chat template, or lacks one of the two tokens.
    """
    kind, split = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if (kind, split) != ("gpt2", "smollm"):
        raise PretrainedError(f"its tokenizer is {kind!r} with {split!r}, of which this reads 'gpt2' with 'smollm'")
    template = fields.get("tokenizer.chat_template")
    if not template:
        raise PretrainedError("it has no chat template: take a model that was trained to chat")
    tokens: Sequence[str] = fields["tokenizer.ggml.tokens"]
    ids = {token: number for number, token in enumerate(tokens)}
    if missing := next((token for token in (eos_token, pad_token) if token not in ids), None):
        raise PretrainedError(f"its tokenizer has no token {missing}")
    added = [
        {
            "id": number,
            "content": tokens[number],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": kind_of_token == CONTROL,
        }
        for number, kind_of_token in enumerate(fields["tokenizer.ggml.token_type"])
        if kind_of_token in (CONTROL, USER_DEFINED)
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": _PRE_TOKENIZER,
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": ids,
            "merges": [merge.split(" ", 1) for merge in fields["tokenizer.ggml.merges"]],
        },
    }
    config = {
        # The class that takes tokenizer.json as it is.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": eos_token,
        "pad_token": pad_token,
        "model_max_length": fields["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": template,
    }
    return {"tokenizer.json": tokenizer, "tokenizer_config.json": config}
