"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.drawing import THOROUGH
from tests.support.late_imports import TOO_SLOW_TO_COLLECT, import_late, loaded_by_collecting

pytest_plugins = [
    "tests.support.recorded",
    "tests.support.services",
    "tests.support.fake_worker",
    "tests.support.simulated",
    "tests.support.simulated_training",
    "tests.support.stack",
]

# A busy machine is slow without anything being wrong. Each run draws other examples; a scheduled one draws many.
for profile, max_examples in (("usual", 25), (THOROUGH, 250)):
    settings.register_profile(
        profile, max_examples=max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile("usual")

# The models of tests are tiny: several threads wait for each other for longer than they compute. One takes a tenth of
# the CPU time, and does not wait on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What collecting loads (the server, every test module) stays until the end: looking through it time and again
# took a third of the CPU time of that.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """After it the collector looks at what tests leave, and at nothing older."""
    try:
        return (yield)
    finally:
        loaded_by_collecting.update(TOO_SLOW_TO_COLLECT & sys.modules.keys())
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Import what the test's module left for now."""
    import_late(item.path)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failure at once: what comes at the end of half an hour may not come."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(
            f"\nFAILED {report.nodeid} ({report.when}): {report.longreprtext.rpartition(chr(10))[2]}", file=sys.stderr
        )


@pytest.fixture(scope="session", autouse=True)
def _nobody_is_logged_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the person who runs the tests has saved with `bapo login` has nothing to do with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in [name for name in os.environ if name in ("BAPO_SERVER", "BAPO_TOKEN", "BAPO_IDEMPOTENCY_KEY")]:
            patch.delenv(name)
        yield


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a driver's program with this shell script in front of the search path."""

    def answer(script: str) -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return answer
