"""Asks the NVIDIA driver of this machine by `nvidia-smi`: a driver in trouble may hang, a process can be given up."""

from __future__ import annotations

import logging
import shutil
import subprocess

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 10.0


def query(*fields: str, gpus: str | None = None) -> list[list[str]]:
    """Return the fields of each GPU, as `nvidia-smi --help-query-gpu` names them; none without a driver that answers.

    `gpus`: indices or UUIDs with commas between them; all where it is None.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    if gpus is not None:
        command.append(f"--id={gpus}")
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("the GPUs cannot be read: %s", error)
        return []
    lines = result.stdout.splitlines() if result.returncode == 0 else []
    return [[value.strip() for value in line.split(",")] for line in lines]


def number(text: str) -> float | None:
    """Return a value of the driver; None for one that it does not know, such as `[N/A]`."""
    try:
        return float(text)
    except ValueError:
        return None
