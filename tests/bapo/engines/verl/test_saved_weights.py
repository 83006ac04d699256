"""What a model folder says of its weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from safetensors.torch import save_file

    from bapo.engines.verl.saved_weights import largest_weight, name_number_format


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("wrong", ["dtype", "torch_dtype"])
def test_the_format_of_the_weights_is_named(tmp_path: Path, name: str, wrong: str) -> None:
    dtype = getattr(torch, name)
    save_file({"a": torch.zeros(2, dtype=dtype)}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"b": torch.zeros(2, dtype=dtype)}, tmp_path / "model-00002-of-00002.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen2", wrong: "float16"}))
    name_number_format(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text()) == {"model_type": "qwen2", "dtype": name}


def test_the_largest_weight_is_found_in_whichever_file_it_stands(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(3, 5), "b": torch.zeros(2)}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"c": torch.zeros(49, 4)}, tmp_path / "model-00002-of-00002.safetensors")
    assert largest_weight(tmp_path) == 196
    assert largest_weight(tmp_path / "missing") == 0
