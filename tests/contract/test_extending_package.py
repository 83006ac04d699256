"""pip builds and installs the package of docs/extending.md, as `test_extending.py` takes it to be installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.contract.extending_page import register, write_package


@pytest.mark.packaging
def test_pip_installs_the_package_with_its_entry_points(tmp_path: Path) -> None:
    write_package(tmp_path)
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", "--target", str(installed), str(tmp_path)], check=True)
    assert (installed / "bapo_sums.py").read_text() == (tmp_path / "bapo_sums.py").read_text()

    def points(folder: Path) -> set[tuple[str, str, str]]:
        (found,) = distributions(path=[str(folder)])
        return {(point.group, point.name, point.value) for point in found.entry_points}

    assert {group for group, _, _ in points(installed)} == {"bapo.methods", "bapo.tasks", "bapo.verifiers"}
    assert points(installed) == points(register(tmp_path))
