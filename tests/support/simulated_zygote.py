"""Forks trainers on the simulated engine, in the place of `bapo.run.zygote`."""

from __future__ import annotations

import sys

from bapo.run import engine, zygote
from tests.support.simulated_engine import SimulatedEngine
from tests.support.simulated_trainer import keep_pace

if __name__ == "__main__":
    keep_pace()
    engine.local_engine = lambda: SimulatedEngine
    sys.exit(zygote.main())
