"""A trainer that is killed right after it has recorded a step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from bapo.config import RunConfig
from bapo.records import AnyRecord, StepRecord
from bapo.run import trainer
from bapo.run.run_folder import claim_config, read_config
from bapo.run.trainer import TrainingSummary
from tests.support import simulated_trainer

_TRAIN: dict[str, Callable[..., TrainingSummary]] = {"local": trainer.train, "simulated": simulated_trainer.train}


def train_and_kill(engine: Literal["local", "simulated"], run_folder: Path, config: RunConfig, *, after: int) -> None:
    """Train in a process that is killed after this step."""
    claim_config(run_folder, config)
    command = [sys.executable, "-m", __name__, engine, str(run_folder), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


class _KillAfter:
    def __init__(self, step: int) -> None:
        self._step = step

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, StepRecord) and record.step == self._step:
            os.kill(os.getpid(), signal.SIGKILL)


def main(engine: str, run_folder: Path, step: int) -> None:
    """What the process does."""
    _TRAIN[engine](run_folder, read_config(run_folder), observer=_KillAfter(step))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
