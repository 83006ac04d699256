"""The tools that ours is compared with, each in a separate virtual environment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PINS: Mapping[str, Sequence[str]] = {
    "trackio": ("trackio==0.43.0",),
    "tensorboard": ("tensorboard==2.21.0",),
    "aim": ("aim==3.29.1",),
    "mlflow": ("mlflow==3.17.2",),
}
ENVIRONMENTS = Path(__file__).resolve().parent.parent / ".venv-ingest"


class CannotInstallError(Exception):
    """A tool cannot be installed here; says why."""


def environment_of(tool: str, environments: Path) -> Path:
    """Return the Python of the tool's virtual environment, which is created if it is missing.

    Raises CannotInstallError.
    """
    folder = environments / tool
    python = folder / "bin" / "python"
    marker = folder / "installed"
    wanted = "\n".join(PINS[tool])
    if not (marker.exists() and marker.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[tool]]
        result = subprocess.run(install, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise CannotInstallError((result.stderr.strip().splitlines() or ["pip failed"])[-1])
        marker.write_text(wanted)
    return python
