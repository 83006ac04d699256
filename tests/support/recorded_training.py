"""Trains the recorded runs, in a process that imports nothing but the trainer: what it has imported is what it used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.recorded_inputs import NOT_READ, PACKAGE, inputs_of

RECIPE = "countdown-demo"
MODEL = "engines/models/countdown-base"
INPUTS = "inputs.json"
OF_THESE_METHODS = {"__init__", "bapo", "bapo_lines", "base", "composition", "grpo", "lines", "plain"}
OF_OTHER_RUNS = {
    *(f"bapo.methods.{file.stem}" for file in (PACKAGE / "methods").glob("*.py") if file.stem not in OF_THESE_METHODS),
    *("bapo.isolation.function", "bapo.posterior", "bapo.tasks.mathematics"),
    *("bapo.tasks.problem_files", "bapo.tasks.reasoning_gym"),
}
"""Methods and tasks that are imported only because a registry or a table has all of them, and what they alone use."""


def train_recorded(parent: Path, runs: Mapping[str, Sequence[str]]) -> None:
    """Train each run into its folder, with its assignments such as `training.steps=8`, and write what they used.

    Raises AssertionError with what the process printed, where it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", __name__, parent],
        input=json.dumps(runs),
        cwd=PACKAGE.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def main(parent: Path, runs: Mapping[str, Sequence[str]]) -> None:
    """Train in this process, keep config, records and samples, and write the digests of what was imported."""
    # Only where it trains: it imports PyTorch.
    from bapo.config import apply_changes, parse_assignments, resolve  # noqa: PLC0415
    from bapo.config.recipes import load_recipe  # noqa: PLC0415
    from bapo.run.trainer import train  # noqa: PLC0415

    recipe = load_recipe(RECIPE)
    for name, assignments in runs.items():
        folder = parent / name
        train(folder, resolve(apply_changes(recipe.explicit, parse_assignments(assignments))).config)
        shutil.rmtree(folder / "checkpoints")
        (folder / "attempt-1" / "summary.json").unlink()
        (folder / ".trainer-lock").unlink()
    names = {name for name in sys.modules if name.partition(".")[0] == "bapo"} - OF_OTHER_RUNS
    modules = [Path(sys.modules[name].__file__ or "") for name in names]
    model = [file for file in (PACKAGE / MODEL).iterdir() if file.name != NOT_READ]
    files = [*modules, *model, PACKAGE / "config" / "recipes" / f"{RECIPE}.toml"]
    inputs = inputs_of(file.relative_to(PACKAGE).as_posix() for file in files)
    (parent / INPUTS).write_text(json.dumps(inputs, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.load(sys.stdin))
