"""The `bapo` command as a process that trains on the simulated engine: `python -m tests.support.simulated_bapo`."""

from __future__ import annotations

from bapo.cli import app
from tests.support.simulated_trainer import keep_pace
from tests.support.simulated_training import simulated_training

if __name__ == "__main__":
    keep_pace()
    with simulated_training():
        app()
