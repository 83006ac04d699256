"""What the GPUs of this machine are doing, from `nvidia-smi`."""

from __future__ import annotations

import logging
import shutil
import subprocess
import threading
from typing import NamedTuple

log = logging.getLogger(__name__)

_QUERY = ("index", "utilization.gpu", "memory.used", "memory.total", "temperature.gpu")
_MEBIBYTE = 1024.0 * 1024.0
PATIENCE_SECONDS = 10.0
"""A driver in trouble may never answer."""
INTERVAL_SECONDS = 15.0


class GpuReading(NamedTuple):
    """One GPU now; None for what it does not tell."""

    number: int
    load_percent: float | None
    memory_used_bytes: float | None
    memory_total_bytes: float | None
    temperature_celsius: float | None


def gpu_readings() -> list[GpuReading]:
    """Each GPU; none where there is no driver, or it does not answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, f"--query-gpu={','.join(_QUERY)}", "--format=csv,noheader,nounits"]
    try:
        result = subprocess.run(query, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("the GPUs cannot be read: %s", error)
        return []
    return [parse_reading(line) for line in result.stdout.splitlines()] if result.returncode == 0 else []


def parse_reading(line: str) -> GpuReading:
    """A line of `nvidia-smi`, memory in MiB: `0, 37, 1024, 143771, 41`; `[N/A]` where a GPU does not tell."""
    index, load, used, total, temperature = line.split(",")
    return GpuReading(
        int(index), _number(load), _number(used, _MEBIBYTE), _number(total, _MEBIBYTE), _number(temperature)
    )


def _number(text: str, unit: float = 1.0) -> float | None:
    try:
        return float(text) * unit
    except ValueError:
        return None


def as_system(readings: list[GpuReading]) -> dict[str, float]:
    """As a heartbeat carries it: `gpu_0_percent`, `gpu_0_memory_used_bytes`; what is not known is left out."""
    values = {
        key: value
        for each in readings
        for key, value in (
            (f"gpu_{each.number}_percent", each.load_percent),
            (f"gpu_{each.number}_memory_used_bytes", each.memory_used_bytes),
        )
    }
    return {key: value for key, value in values.items() if value is not None}


class GpuWatch(threading.Thread):
    """Reads the GPUs again and again, so that no heartbeat waits for a driver."""

    def __init__(self) -> None:
        super().__init__(name="gpu readings", daemon=True)
        self.latest: dict[str, float] = {}

    def run(self) -> None:
        """Read for ever."""
        pause = threading.Event()
        while True:
            self.latest = as_system(gpu_readings())
            pause.wait(INTERVAL_SECONDS)
