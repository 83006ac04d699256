"""Conversion of GGUF files: the same weights, tokens and chat, in a folder that engines load."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from bapo.pretrained import PretrainedError
from bapo.pretrained.gguf_model import convert_gguf
from bapo.tasks import Problem
from tests.support.late_imports import late_imports
from tests.support.tiny_gguf import CONTEXT, TEMPLATE, TOKENS, weights, write_gguf

with late_imports():
    import torch
    from safetensors.torch import load_file

    from bapo.engines.local.policy import encode_problems, load_language_model


def convert(path: Path, folder: Path, dtype: str = "float32") -> dict[str, torch.Tensor]:
    folder.mkdir()
    convert_gguf(path, folder, dtype, eos_token="<|im_end|>", pad_token="<|endoftext|>")  # type: ignore[arg-type]
    return load_file(folder / "model.safetensors")


def test_the_folder_loads_as_a_model_that_ends_its_turns(tmp_path: Path) -> None:
    given = weights()
    found = convert(write_gguf(tmp_path / "tiny.gguf", given), tmp_path / "model")
    assert sum(values.numel() for values in found.values()) == sum(values.size for values in given.values())
    assert np.array_equal(found["model.embed_tokens.weight"].numpy(), given["token_embd.weight"])
    assert np.array_equal(found["model.layers.1.mlp.down_proj.weight"].numpy(), given["blk.1.ffn_down.weight"])
    loaded = load_language_model(str(tmp_path / "model"), torch.device("cpu"))
    assert loaded.eos_token_ids == (TOKENS.index("<|im_end|>"),)
    assert loaded.tokenizer.pad_token == "<|endoftext|>"
    assert loaded.model.config.max_position_embeddings == CONTEXT
    assert loaded.model.config.rms_norm_eps == 1e-5
    # Without weights of its own, the head is the embedding.
    assert loaded.model.get_output_embeddings().weight is loaded.model.get_input_embeddings().weight


def test_text_is_tokenised_with_each_digit_apart_and_the_chat_template(tmp_path: Path) -> None:
    convert(write_gguf(tmp_path / "tiny.gguf", weights()), tmp_path / "model")
    tokenizer = load_language_model(str(tmp_path / "model"), torch.device("cpu")).tokenizer
    assert tokenizer.convert_ids_to_tokens(tokenizer("2 the 34")["input_ids"]) == ["2", "Ġthe", "Ġ", "3", "4"]
    assert tokenizer.decode(encode_problems(tokenizer, [Problem("hé", "letters", "hé", {})])[0]) == (
        "<|im_start|>user\nhé<|im_end|>\n<|im_start|>assistant\n"
    )
    assert tokenizer.chat_template == TEMPLATE


def test_query_and_key_rows_come_in_halves_instead_of_pairs(tmp_path: Path) -> None:
    given = weights()
    # Four heads of 16 rows: the file has each head's rows as 0, 8, 1, 9, …, its pairs for the rotation.
    for name, heads in (("attn_q", 4), ("attn_k", 2)):
        pairs = [head * 16 + half * 8 + place for head in range(heads) for place in range(8) for half in (0, 1)]
        given[f"blk.0.{name}.weight"] = np.repeat(np.array(pairs, np.float32)[:, None], 64, axis=1)
    found = convert(write_gguf(tmp_path / "tiny.gguf", given), tmp_path / "model")
    assert found["model.layers.0.self_attn.q_proj.weight"][:, 0].tolist() == list(range(64))
    assert found["model.layers.0.self_attn.k_proj.weight"][:, 5].tolist() == list(range(32))


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q4_1, GGMLQuantizationType.Q8_0])
def test_quantised_weights_are_what_their_blocks_say(tmp_path: Path, kind: GGMLQuantizationType) -> None:
    given = weights()
    # Q4_1 keeps the least value of 32 and 15 steps to the largest: 0 … 15 / 4 are exact. Q8_0: multiples of max / 127.
    row = np.arange(32) % 16 / 4 if kind == GGMLQuantizationType.Q4_1 else np.linspace(-127, 127, 32).round() / 8
    given["blk.0.attn_v.weight"] = np.tile(row.astype(np.float32), (32, 2))
    found = convert(write_gguf(tmp_path / "tiny.gguf", given, quantised=kind), tmp_path / "model")
    assert found["model.layers.0.self_attn.v_proj.weight"].tolist() == given["blk.0.attn_v.weight"].tolist()


def test_bfloat16_is_the_nearest_value_of_two_equally_near_the_even_one(tmp_path: Path) -> None:
    given = weights()
    # Eight bits of mantissa: between 1 and 2, values are 2⁻⁷ apart. 1 + 2⁻⁸ lies half-way, and so does 1 + 3·2⁻⁸.
    given["output_norm.weight"][:4] = [1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -0.1]
    found = convert(write_gguf(tmp_path / "tiny.gguf", given), tmp_path / "model", "bfloat16")
    assert found["model.norm.weight"].dtype == torch.bfloat16
    assert found["model.norm.weight"][:4].tolist() == [1.0, 1 + 2**-6, 1 + 2**-7, -0.10009765625]
    theirs = torch.from_numpy(given["token_embd.weight"]).to(torch.bfloat16)
    assert torch.equal(found["model.embed_tokens.weight"], theirs)
    assert json.loads((tmp_path / "model" / "config.json").read_text())["dtype"] == "bfloat16"


def test_what_is_no_chat_model_is_refused(tmp_path: Path) -> None:
    whole = weights()
    cut = {name: values for name, values in whole.items() if name != "blk.1.ffn_up.weight"}
    more = whole | {"rope_freqs.weight": np.ones(8, np.float32)}
    for name, path, reason in (
        ("clip", write_gguf(tmp_path / "clip.gguf", whole, architecture="clip"), "no Llama language model but 'clip'"),
        ("base", write_gguf(tmp_path / "base.gguf", whole, template=None), "it has no chat template"),
        ("cut", write_gguf(tmp_path / "cut.gguf", cut), "the weights 'blk.1.ffn_up.weight' are missing"),
        ("more", write_gguf(tmp_path / "more.gguf", more), "no plain Llama model, 'rope_freqs.weight' first"),
    ):
        with pytest.raises(PretrainedError, match=reason):
            convert(path, tmp_path / name)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", weights())
    whole = path.read_bytes()
    for name, content in (("none", b""), ("text", b"x" * 100), ("head", whole[:2_000]), ("half", whole[:20_000])):
        path.write_bytes(content)
        with pytest.raises(PretrainedError, match=r"tiny.gguf cannot be read as GGUF"):
            convert(path, tmp_path / name)
