"""Tests of the verl engine: they need the Python of .venv-verl.

.venv-verl/bin/python -m pytest --confcutdir=tests/verl -m verl tests/verl
.venv-verl-images/bin/python -m pytest --confcutdir=tests/verl -m verl tests/verl/test_images.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest

from bapo.config import resolve
from bapo.tasks import build_task
from bapo.tasks.base import Task
from tests.verl.comparing import configure, run_config

if find_spec("verl") is None:
    collect_ignore_glob = ["test_*.py"]
elif find_spec("torchvision") is None:
    # Of .venv-verl-images.
    collect_ignore_glob = ["test_images.py"]


@pytest.fixture(scope="session", autouse=True)
def environment() -> None:
    """As in a trainer: set before a test imports anything of verl."""
    from bapo.engines.verl.environment import prepare_environment  # noqa: PLC0415
    from bapo.engines.verl.versions import check_versions  # noqa: PLC0415

    prepare_environment(resolve({"engine": {"type": "verl"}}).config, check_versions())


WEIGHT_UPDATE_SECONDS = 60
"""Most that vLLM may take for new weights, on a busy machine; a test waits for them in vain."""


@pytest.fixture(scope="session")
def task() -> Task:
    """Of the runs that are held against each other."""
    return build_task(run_config().task)


@pytest.fixture(scope="session")
def verl_engine(task: Task, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Start one engine for the tests that do not break it, and after them for those that do: a start takes a minute.

    It keeps the reference from its start, which only one test trains with.
    """
    # The core alone does without a process that only imports vLLM once more.
    is_whole = any(item.get_closest_marker("core") is None for item in request.session.items)
    with pytest.MonkeyPatch.context() as patch:
        # So that a test may send a function into vLLM's worker.
        patch.setenv("VLLM_ALLOW_INSECURE_SERIALIZATION", "1")
        if is_whole:
            # vLLM's worker in a process of its own, as on GPUs; in the other tests it has none.
            patch.setattr("bapo.engines.verl.settings._IN_ONE_PROCESS", "mp")
        from bapo.run.engine import build_engine  # noqa: PLC0415

        own = {"engine__type": "verl", "engine__verl__weight_update_seconds": WEIGHT_UPDATE_SECONDS}
        before = set(psutil.Process().children(recursive=True))
        engine = build_engine(run_config(**own, loss__kl_to="reference"), task)
        configure(engine, run_config(**own))
        yield engine
        engine.close()
    assert set(psutil.Process().children(recursive=True)) <= before


_exit_status = 0


def pytest_sessionfinish(exitstatus: int) -> None:
    """Remember how the tests ended."""
    global _exit_status  # noqa: PLW0603 - the hook below is not told
    _exit_status = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Leave at once where Ray was used: its threads may crash while the interpreter ends, when all is reported."""
    if "ray" in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_status)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder; verl's own warnings are not ours to remove."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.verl)
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.timeout(3_600))
