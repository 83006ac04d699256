"""Tests of the verl engine: they need the Python of .venv-verl.

.venv-verl/bin/python -m pytest --confcutdir=tests/verl -m verl tests/verl
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from bapo.config import resolve

if find_spec("verl") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def environment() -> None:
    """As in a trainer: set before a test imports anything of verl."""
    from bapo.engines.verl.environment import prepare_environment  # noqa: PLC0415
    from bapo.engines.verl.versions import check_versions  # noqa: PLC0415

    prepare_environment(resolve({"engine": {"type": "verl"}}).config, check_versions())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; verl's own warnings are not ours to mend."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.verl)
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.timeout(1800))
