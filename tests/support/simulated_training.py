"""Trains on the simulated engine wherever the local one is asked for, in this process and in those that it starts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bapo.run import engine, trainer_process, zygote_client
from tests.support.simulated_engine import SimulatedEngine

ROOT = Path(__file__).resolve().parents[2]
BAPO = ("-m", "tests.support.simulated_bapo")
TRAINER = ("-m", "tests.support.simulated_trainer")
ZYGOTE = "tests.support.simulated_zygote"


@contextmanager
def simulated_training() -> Iterator[None]:
    """Put the simulated engine in the place of the local one.

    Workers and `bapo study` in this process start and fork trainers on it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "local_engine", lambda: SimulatedEngine)
        patch.setattr(zygote_client, "MODULE", ZYGOTE)
        patch.setattr(trainer_process, "MODULE", TRAINER)
        if "worker.trainer_process" in sys.modules:
            patch.setattr("worker.trainer_process.MODULE", TRAINER)
        # A worker's trainers do not import from the working directory.
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        yield


@pytest.fixture
def simulated_engine() -> Iterator[None]:
    """The simulated engine in the place of the local one."""
    with simulated_training():
        yield
