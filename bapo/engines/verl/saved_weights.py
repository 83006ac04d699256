"""The weights in the safetensors files of a model folder: their number format, and the largest."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

from safetensors import safe_open

_NAMES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
"""Names of number formats in safetensors, and in Transformers."""


def name_number_format(folder: Path) -> None:
    """Put the format of the folder's weights into its config.json.

    verl writes float32 weights and names bfloat16, to which everybody who loads the folder would then round them.
    """
    file = min(folder.glob("*.safetensors"))
    with safe_open(file, framework="pt") as tensors:
        found = tensors.get_slice(next(iter(tensors.keys()))).get_dtype()
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    # Until Transformers 5 it was called torch_dtype.
    config.pop("torch_dtype", None)
    path.write_text(json.dumps({**config, "dtype": _NAMES[found]}, indent=2) + "\n", encoding="utf-8")


def largest_weight(folder: Path) -> int:
    """Return how many numbers the largest weight of a model has: often the embeddings, vocabulary × width."""
    largest = 0
    for file in folder.glob("*.safetensors"):
        with safe_open(file, framework="pt") as tensors:
            names = tensors.keys()
            largest = max(largest, *(prod(tensors.get_slice(name).get_shape()) for name in names))
    return largest
