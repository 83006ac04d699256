"""Folders from the hub: language models with weights as safetensors and a tokenizer, and their licence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.pretrained import PretrainedError
from bapo.pretrained.hub_model import check_language_model, licence_of

WHOLE = {
    "config.json": '{"architectures": ["Qwen2ForCausalLM"]}',
    "model-00001-of-00001.safetensors": "",
    "tokenizer.json": "{}",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"config.json": "[]"}, "o/it has no readable config.json"),
        ({"config.json": "{"}, "o/it has no readable config.json"),
        ({"config.json": "{}"}, r"o/it is no language model \(no architecture\)"),
        ({"config.json": '{"architectures": ["BertModel"]}'}, r"o/it is no language model \(BertModel\)"),
        ({"model-00001-of-00001.safetensors": None}, "no weights as safetensors"),
        ({"tokenizer.json": None}, "no tokenizer"),
    ],
)
def test_what_is_no_language_model_is_refused(
    tmp_path: Path, changes: dict[str, str | None], reason: str | None
) -> None:
    files = {name: content for name, content in (WHOLE | changes).items() if content is not None}
    write(tmp_path, files)
    if reason is None:
        check_language_model("o/it", tmp_path)
        return
    with pytest.raises(PretrainedError, match=reason):
        check_language_model("o/it", tmp_path)


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: apache-2.0\ntags: [chat]\n---\n# It\nlicense: mit", "apache-2.0"),
        ("---\nlicense: other\nlicense_name: qwen-research\n---\n", "qwen-research"),
        ("---\nlicense: 'mit'\n---\n", "mit"),
        ("---\nlicense: other\n---\n", "not stated"),
        ("# It\nlicense: mit", "not stated"),
        (None, "not stated"),
    ],
)
def test_the_licence_is_that_of_the_model_cards_head(tmp_path: Path, card: str | None, licence: str) -> None:
    if card is not None:
        write(tmp_path, {"README.md": card})
    assert licence_of(tmp_path) == licence
