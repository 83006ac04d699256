"""Load, memory and temperature of this machine's GPUs."""

from __future__ import annotations

import threading
from typing import NamedTuple

from bapo.run.nvidia_smi import number, query

_MEBIBYTE = 1024.0 * 1024.0
INTERVAL_SECONDS = 15.0


class GpuReading(NamedTuple):
    """The state of one GPU; None for what it does not report."""

    number: int
    load_percent: float | None
    memory_used_bytes: float | None
    memory_total_bytes: float | None
    temperature_celsius: float | None


def gpu_readings() -> list[GpuReading]:
    """Return the state of each GPU; empty without a working driver."""
    return [
        GpuReading(int(index), number(load), _bytes(used), _bytes(total), number(temperature))
        for index, load, used, total, temperature in query(
            "index", "utilization.gpu", "memory.used", "memory.total", "temperature.gpu"
        )
    ]


def _bytes(mebibytes: str) -> float | None:
    value = number(mebibytes)
    return None if value is None else value * _MEBIBYTE


def as_system(readings: list[GpuReading]) -> dict[str, float]:
    """Return the readings as a heartbeat carries them, such as `gpu_0_percent`; unknown ones are left out."""
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
    """Reads the GPUs in the background, so that no heartbeat waits for a driver."""

    def __init__(self) -> None:
        super().__init__(name="gpu readings", daemon=True)
        self.latest: dict[str, float] = {}

    def run(self) -> None:
        """Read until the process ends."""
        pause = threading.Event()
        while True:
            self.latest = as_system(gpu_readings())
            pause.wait(INTERVAL_SECONDS)
