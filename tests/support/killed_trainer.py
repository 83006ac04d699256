"""A trainer on the simulated engine that is killed right after it has recorded a step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from bapo.config import RunConfig
from bapo.records import AnyRecord, StepRecord
from bapo.run.run_folder import claim_config, read_config
from tests.support.simulated_trainer import train


def train_and_kill(run_folder: Path, config: RunConfig, *, after: int) -> None:
    """Train in a process that is killed after this step."""
    claim_config(run_folder, config)
    command = [sys.executable, "-m", __name__, str(run_folder), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


class _KillAfter:
    def __init__(self, step: int) -> None:
        self._step = step

    def on_record(self, record: AnyRecord) -> None:
        if isinstance(record, StepRecord) and record.step == self._step:
            os.kill(os.getpid(), signal.SIGKILL)


def main(run_folder: Path, step: int) -> None:
    """What the process does."""
    train(run_folder, read_config(run_folder), observer=_KillAfter(step))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
