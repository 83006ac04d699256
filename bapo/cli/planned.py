"""The planned run of commands that take a model and its data: `bapo probe` and `bapo warm-start`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bapo.config import ResolvedConfig, RunConfig, apply_changes, parse_assignments, resolve
from bapo.config.recipes import load_recipe
from bapo.methods.probe import ProbeConfig
from bapo.run.run_folder import CONFIG_FILE, read_config

DATA_FILES = (".jsonl", ".parquet")


def planned_run(model: str, data: str, assignments: Sequence[str]) -> ResolvedConfig:
    """Return the config of a run of the model on the data: a file, a recipe, or the folder of a run.

    Raises ConfigError.
    """
    changes: dict[str, Any] = {"model.path": model}
    if Path(data).suffix in DATA_FILES:
        explicit: dict[str, Any] = {}
        changes |= {"task.type": "file", "task.train_file": data}
    elif (Path(data) / CONFIG_FILE).is_file():
        explicit = _explicit(read_config(Path(data)))
    else:
        explicit = load_recipe(data).explicit
    return resolve(apply_changes(explicit, changes | parse_assignments(assignments)))


def _explicit(config: RunConfig) -> dict[str, Any]:
    """Return the fields of a run's config; of a probe's, those of the run that it was made for."""
    explicit = config.model_dump(mode="json")
    if not isinstance(config.method, ProbeConfig):
        return explicit
    del explicit["method"]
    length = {"training.steps": config.method.planned_steps, "training.epochs": config.method.planned_epochs}
    return apply_changes(explicit, length)
