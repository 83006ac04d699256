"""A worker whose trainers run on the simulated engine, as a process: `python -m tests.support.simulated_worker run`."""

from __future__ import annotations

import sys

from tests.support.simulated_training import simulated_training
from worker.__main__ import main

if __name__ == "__main__":
    with simulated_training():
        sys.exit(main())
