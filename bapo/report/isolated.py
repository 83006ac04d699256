"""Draws a run's report in a separate process, so that a drawing that hangs or dies takes nothing else with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bapo.run.artifacts import ArtifactError

REPORT_SECONDS = 600.0


def draw_report(run_folder: Path, out: Path) -> None:
    """Write the report of the run in the folder. Raises ArtifactError with the reason where it cannot be drawn."""
    command = [sys.executable, "-m", "bapo.report", str(run_folder), str(out)]
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=REPORT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ArtifactError(f"drawing the report took longer than {REPORT_SECONDS:.0f} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ArtifactError(f"the report cannot be drawn: {last[:500]}")
