"""Chooses the Python that runs the verl engine, whose packages may need an environment of their own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import bapo
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.engines.verl.versions import MEND_CPU, MEND_GPU

VARIABLE = "BAPO_VERL_PYTHON"
"""Names the Python of an environment with verl."""


def trainer_python(config: RunConfig) -> str:
    """Return the Python that trains this config: this one wherever it can.

    For verl, where this one has none, that of `.venv-verl` next to the source, or the one that BAPO_VERL_PYTHON names.
    Raises ConfigError where there is none either.
    """
    if config.engine.type != "verl" or find_spec("verl") is not None:
        return sys.executable
    beside = Path(bapo.__file__).parents[1] / ".venv-verl" / "bin" / "python"
    for candidate in (os.environ.get(VARIABLE), str(beside)):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise ConfigError(
        [
            ConfigProblem(
                "engine.type", "verl", f"verl is not installed here: without a GPU {MEND_CPU}; with one {MEND_GPU}"
            )
        ]
    )
