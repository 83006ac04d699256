"""A package that offers something unusable is named with the remedy, and harms nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bapo.config import ConfigError, resolve
from bapo.config.method import METHODS

SOURCE = '''
from typing import ClassVar, Literal
from bapo.config.method import MethodSection

class GoodConfig(MethodSection):
    """Good."""
    label: ClassVar = "Good"
    type: Literal["good"] = "good"
    strength: int = 1
    """Strength."""

class Good:
    config_class = GoodConfig

class BapoConfig(GoodConfig):
    type: Literal["bapo"] = "bapo"

class Taken:
    config_class = BapoConfig

class ClashingConfig(MethodSection):
    label: ClassVar = "Clashing"
    type: Literal["clashing"] = "clashing"
    v: bool = True
    """As of no other method."""

class Clashing:
    config_class = ClashingConfig

class Bare:
    pass
'''

Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package `strange-methods 2.0` with these entry points beside a good one."""

    def installed(points: str) -> None:
        (tmp_path / "strange_methods.py").write_text(SOURCE)
        (tmp_path / "failing_methods.py").write_text("import nothing_of_that_name\n")
        info = tmp_path / "strange_methods-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strange-methods\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(f"[bapo.methods]\ngood = strange_methods:Good\n{points}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        METHODS.forget()

    yield installed
    monkeypatch.undo()
    METHODS.forget()


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("absent", "no_such_module:Method", "it cannot be imported (ModuleNotFoundError"),
        ("failing", "failing_methods:Method", "it cannot be imported (ModuleNotFoundError"),
        ("missing", "strange_methods:NoSuchClass", "it cannot be imported (AttributeError"),
        ("bare", "strange_methods:Bare", "it has no config_class that is a subclass of MethodSection"),
        ("other", "strange_methods:Good", "GoodConfig.type is 'good', and not the entry point's name"),
        ("clashing", "strange_methods:Clashing", "method.v is of kind flag, but integer in bapo; rename it"),
    ],
)
def test_a_broken_method_is_named_and_the_others_work(
    install: Install, caplog: pytest.LogCaptureFixture, name: str, place: str, reason: str
) -> None:
    install(f"{name} = {place}")
    with caplog.at_level(logging.WARNING):
        assert resolve({"method": {"type": "good"}}).config.method.type == "good"
        assert resolve({"method": {"type": "grpo"}}).config.method.type == "grpo"
    (message,) = [record.getMessage() for record in caplog.records]
    named = f"{place}, which the package strange-methods 2.0 offers as {name} (bapo.methods), cannot be used: {reason}"
    assert message.startswith(named)
    assert message.endswith("; update or uninstall that package")
    with pytest.raises(ConfigError) as caught:
        resolve({"method": {"type": name}})
    (problem,) = caught.value.problems
    assert (problem.field, problem.value, problem.remedy) == ("method.type", name, message)


def test_a_name_of_bapos_own_stays_its_own(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("bapo = strange_methods:Taken")
    assert resolve({}).config.method.label == "BAPO"
    assert "there is a method of that name already" in caplog.text


def test_nothing_is_imported_before_a_config_needs_it(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("absent = no_such_module:Method")
    assert caplog.text == ""
    assert METHODS.get("absent") is None
    assert "no_such_module" in caplog.text


def test_the_default_comes_first_and_the_others_by_name() -> None:
    first, *others = METHODS.classes
    assert first == METHODS.default.type_name() == "bapo"
    assert others == sorted(others)
    assert {"ba_ppo", "grpo", "grpo_delayed"} <= set(others)


def test_what_is_only_described_is_known_and_not_offered() -> None:
    assert "observed" not in METHODS.classes
    described = METHODS.get("observed")
    assert described is not None
    assert not described.is_trainable
