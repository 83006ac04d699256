"""What the machine is doing, for the heartbeat, and which GPUs it has."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from bapo.run_folder import mark_of


def utilisation() -> dict[str, float]:
    """CPU in percent since the last call, memory in bytes, and the clock, in seconds."""
    memory = psutil.virtual_memory()
    return {
        "clock_seconds": time.time(),
        "cpu_percent": psutil.cpu_percent(interval=None),
        "memory_used_bytes": float(memory.total - memory.available),
        "memory_total_bytes": float(memory.total),
    }


def folder_of_runs(folder: Path) -> dict[str, float]:
    """The folder of the runs as this machine sees it: whether it can be written, its space, and which one it is."""
    found = {"runs_dir_writable": float(os.access(folder, os.W_OK | os.X_OK))}
    try:
        found["runs_dir_free_bytes"] = float(shutil.disk_usage(folder).free)
    except OSError:
        return found
    mark = mark_of(folder)
    # No number is not the server's number either.
    return found | {"runs_dir_mark": float(-1 if mark is None else mark)}


def gpu_names() -> Sequence[str]:
    """Names of the NVIDIA GPUs, by index; none where there is no driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    result = subprocess.run(
        [program, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return tuple(result.stdout.splitlines()) if result.returncode == 0 else ()
