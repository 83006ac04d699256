"""What the machine is doing, for the heartbeat, and which GPUs it has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import psutil


def utilisation() -> dict[str, float]:
    """CPU in percent since the last call, memory and disk in bytes."""
    memory = psutil.virtual_memory()
    return {
        "cpu_percent": psutil.cpu_percent(interval=None),
        "memory_used_bytes": float(memory.total - memory.available),
        "memory_total_bytes": float(memory.total),
    }


def gpu_names() -> Sequence[str]:
    """Names of the NVIDIA GPUs, by index; none where there is no driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    result = subprocess.run(
        [program, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return tuple(result.stdout.splitlines()) if result.returncode == 0 else ()
