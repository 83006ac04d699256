"""A data folder that leaves no process behind."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bapo.deploy.up.child import ChildSpec
from bapo.deploy.up.folder import DataFolder
from bapo.deploy.up.supervision import Supervisor


@pytest.fixture
def place() -> Iterator[Path]:
    """A temporary folder that root's PostgreSQL can reach: pytest closes its own to other accounts."""
    with tempfile.TemporaryDirectory(prefix="bapo-up-") as path:
        yield Path(path)


@pytest.fixture
def folder(place: Path) -> Iterator[DataFolder]:
    made = DataFolder(place / "data")
    made.prepare()
    yield made
    made.unlock()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(folder: DataFolder, said: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(folder, said.append, threading.Event())
    yield made
    made.stop_all()


@pytest.fixture
def shell() -> Callable[..., ChildSpec]:
    """A child that runs a line of shell."""

    def spec(line: str, name: str = "child", **options: Any) -> ChildSpec:
        return ChildSpec(name=name, command=["/bin/sh", "-c", line], **options)

    return spec
