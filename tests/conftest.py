"""Fixtures for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest_plugins = ["tests.recorded", "tests.services", "tests.simulated", "tests.stack"]


@pytest.fixture(scope="session", autouse=True)
def _nobody_is_logged_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the person who runs the tests has saved with `bapo login` has nothing to do with them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        for name in [name for name in os.environ if name in ("BAPO_SERVER", "BAPO_TOKEN", "BAPO_IDEMPOTENCY_KEY")]:
            patch.delenv(name)
        yield
