"""A trainer on the simulated engine, as a process: `python -m tests.support.simulated_trainer FOLDER --attempt N`.

It imports no PyTorch, for which a trainer takes seconds.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from bapo.run import trainer
from tests.support.simulated_engine import PACE_VARIABLE, SimulatedEngine

train = partial(trainer.train, build=SimulatedEngine)


def keep_pace() -> None:
    """Slow this process's steps down, so that the journal of a run that is stopped late does not grow large."""
    os.environ.setdefault(PACE_VARIABLE, "0.02")


if __name__ == "__main__":
    keep_pace()
    code = trainer.main(run=train)
    assert "torch" not in sys.modules, "something imports PyTorch, which takes seconds"
    sys.exit(code)
