"""The trainer is started with a Python that has the engine's packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import bapo
from bapo.config import ConfigError, apply_changes, resolve
from bapo.engines.verl import interpreter
from bapo.engines.verl.interpreter import VARIABLE, trainer_python

LOCAL = resolve({}).config
VERL = resolve(apply_changes({}, {"engine.type": "verl"})).config


@pytest.fixture(autouse=True)
def without_verl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library in an empty folder, in a Python without verl."""
    monkeypatch.setattr(interpreter, "find_spec", lambda name: None)
    monkeypatch.setattr(bapo, "__file__", str(tmp_path / "bapo" / "__init__.py"))
    monkeypatch.delenv(VARIABLE, raising=False)


def _python(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return str(path)


def test_the_local_engine_takes_this_python() -> None:
    assert trainer_python(LOCAL) == sys.executable


def test_verl_takes_this_python_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(interpreter, "find_spec", lambda name: object())
    _python(tmp_path / ".venv-verl" / "bin" / "python")
    assert trainer_python(VERL) == sys.executable


def test_else_the_environment_beside_the_source(tmp_path: Path) -> None:
    python = _python(tmp_path / ".venv-verl" / "bin" / "python")
    assert trainer_python(VERL) == python


def test_or_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _python(tmp_path / ".venv-verl" / "bin" / "python")
    monkeypatch.setenv(VARIABLE, _python(tmp_path / "elsewhere" / "python"))
    assert trainer_python(VERL) == str(tmp_path / "elsewhere" / "python")


def test_where_there_is_none_the_remedy_is_named() -> None:
    with pytest.raises(ConfigError, match=r"engine\.type = 'verl': verl is not installed here: .*setup_verl\.sh"):
        trainer_python(VERL)
