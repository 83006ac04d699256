"""A worker as a process whose trainers train on the simulated engine, in the place of `python -m worker`."""

from __future__ import annotations

import sys

from tests.support.simulated_training import simulated_training
from worker.__main__ import main

if __name__ == "__main__":
    with simulated_training():
        sys.exit(main())
