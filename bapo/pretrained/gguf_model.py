"""A language model in a GGUF file, converted to a folder in Hugging Face format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bapo.pretrained import PretrainedError
from bapo.pretrained.gguf_tokenizer import tokenizer_files

if TYPE_CHECKING:
    from gguf import GGUFReader

Dtype = Literal["bfloat16", "float32"]
NUM_BYTES: Mapping[Dtype, int] = {"bfloat16": 2, "float32": 4}
"""Size of one weight."""
WEIGHTS_FILE = "model.safetensors"
_OF_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def convert_gguf(
    path: Path,
    folder: Path,
    dtype: Dtype,
    *,
    eos_token: str,
    pad_token: str,
    progress: Callable[[float], None] = lambda _: None,
) -> int:
    """Write config, tokenizer and dequantised weights into the folder, and return the number of parameters.

    `progress` is called with the converted share of the weights. Raises PretrainedError where the file is damaged, is
    no Llama model, or lacks weights or a chat template; OSError where the folder cannot be written.
    """
    # A model that was fetched before is trained without this package.
    from gguf import dequantize  # noqa: PLC0415

    reader = _opened(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    architecture = fields.get("general.architecture")
    if architecture != "llama":
        raise PretrainedError(f"it holds no Llama language model but {architecture!r}: take another file")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = _config(fields, has_head="output.weight" in tensors, dtype=dtype)
    names = _names(config)
    if missing := next((name for name in names.values() if name not in tensors), None):
        raise PretrainedError(f"the weights {missing!r} are missing: take a whole model")
    if further := tensors.keys() - set(names.values()):
        raise PretrainedError(f"it has weights of no plain Llama model, {min(further)!r} first: take another file")
    files = tokenizer_files(fields, eos_token=eos_token, pad_token=pad_token)
    ids = files["tokenizer.json"]["model"]["vocab"]
    special = {"eos_token_id": ids[eos_token], "pad_token_id": ids[pad_token]}
    files |= {"config.json": config | special, "generation_config.json": special}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    # GGUF names the fastest dimension first.
    shapes = {ours: tuple(int(size) for size in reversed(tensors[theirs].shape)) for ours, theirs in names.items()}
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}

    def weights() -> Iterator[NDArray[np.float32]]:
        for number, theirs in enumerate(names.values(), start=1):
            tensor = tensors[theirs]
            values = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
            yield _unpaired(values, heads.get(theirs.split(".")[-2]))
            progress(number / len(names))

    _write_safetensors(folder / WEIGHTS_FILE, shapes, weights(), dtype)
    return sum(int(np.prod(shape)) for shape in shapes.values())


def _opened(path: Path) -> GGUFReader:
    from gguf import GGUFReader  # noqa: PLC0415

    try:
        return GGUFReader(path)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise PretrainedError(f"{path.name} cannot be read as GGUF ({error}): take a whole file") from None


def _config(fields: Mapping[str, Any], *, has_head: bool, dtype: Dtype) -> dict[str, Any]:
    try:
        of = {name: fields[f"llama.{name}"] for name in _SIZES}
        num_tokens = len(fields["tokenizer.ggml.tokens"])
    except KeyError as error:
        raise PretrainedError(f"it does not say its {error.args[0]}: take a whole model") from None
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        **{ours: of[theirs] for theirs, ours in _SIZES.items()},
        # Stored with 32 bits: 1e-5 comes back as 9.999999747e-06.
        "rms_norm_eps": float(f"{of['attention.layer_norm_rms_epsilon']:.6g}"),
        "vocab_size": num_tokens,
        "tie_word_embeddings": not has_head,
        "attention_bias": False,
        "mlp_bias": False,
        "dtype": dtype,
    }


_SIZES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "context_length": "max_position_embeddings",
    "rope.freq_base": "rope_theta",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}
"""Field of the file, without its prefix → field of config.json."""


def _names(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of each weight in the file, by our name, in the model's order."""
    outside = {f"{ours}.weight": f"{theirs}.weight" for theirs, ours in _OUTSIDE.items()}
    if config["tie_word_embeddings"]:
        del outside["lm_head.weight"]
    layers = {
        f"model.layers.{layer}.{ours}.weight": f"blk.{layer}.{theirs}.weight"
        for layer in range(config["num_hidden_layers"])
        for theirs, ours in _OF_LAYER.items()
    }
    return outside | layers


def _unpaired(values: NDArray[np.float32], num_heads: int | None) -> NDArray[np.float32]:
    """Return query or key weights with each head's rows in halves, as Hugging Face rotates them, not in pairs."""
    if num_heads is None:
        return values
    pairs = values.reshape(num_heads, -1, 2, values.shape[-1])
    return pairs.swapaxes(1, 2).reshape(values.shape)


def _write_safetensors(
    path: Path, shapes: Mapping[str, tuple[int, ...]], weights: Iterator[NDArray[np.float32]], dtype: Dtype
) -> None:
    """Write one tensor at a time, so that memory holds one: header length, header, values."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, shape in shapes.items():
        end = offset + int(np.prod(shape)) * NUM_BYTES[dtype]
        header[name] = {"dtype": {"bfloat16": "BF16", "float32": "F32"}[dtype], "shape": shape}
        header[name]["data_offsets"] = (offset, end)
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    # Values begin at a multiple of eight bytes.
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in weights:
            file.write(_rounded(values).tobytes() if dtype == "bfloat16" else values.astype("<f4").tobytes())


def _rounded(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Return the bits of the nearest bfloat16, of two equally near the even one."""
    bits = np.ascontiguousarray(values).view("<u4")
    rounded: NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return rounded
