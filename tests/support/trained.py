"""Trains several runs in one process of their own: each by itself would import for as long as it trains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.command_line import run_here

ROOT = Path(__file__).resolve().parents[2]


def train_one_after_another(runs: Mapping[Path, Sequence[str]]) -> None:
    """Train the recipe `countdown-demo` into each folder, with its assignments such as `training.steps=8`.

    Raises AssertionError with what the first one said that failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps({str(folder): list(assignments) for folder, assignments in runs.items()}),
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def main(runs: Mapping[str, Sequence[str]]) -> None:
    """What the process does."""
    for folder, assignments in runs.items():
        arguments = [argument for assignment in assignments for argument in ("--set", assignment)]
        done = run_here("train", "countdown-demo", "--out", folder, *arguments)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)


if __name__ == "__main__":
    main(json.load(sys.stdin))
