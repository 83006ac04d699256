"""Where trainers may be forked."""

from __future__ import annotations

import sys
from typing import Literal

import pytest

from bapo.config.engine import EngineConfig
from bapo.run.forking import can_fork


@pytest.mark.parametrize(
    ("platform", "engine", "python", "has_gpus", "expected"),
    [
        ("linux", "local", sys.executable, False, True),
        ("linux", "local", sys.executable, True, False),
        ("linux", "local", "/another/python", False, False),
        ("linux", "verl", sys.executable, False, False),
        ("darwin", "local", sys.executable, False, False),
    ],
)
def test_only_the_local_engine_on_linux_without_gpus_is_forked(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    engine: Literal["local", "verl"],
    python: str,
    has_gpus: bool,
    expected: bool,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert can_fork(EngineConfig(type=engine), python, has_gpus=has_gpus) is expected
